// What a terminal sends for keys, as keys: arrows and their like come as sequences that begin with
// ESC. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "client/screen.h"

namespace trainctl::client {

class KeyReader {
 public:
  void Add(std::string_view bytes) { bytes_ += bytes; }
  // nullopt: none is whole. `last`: nothing followed for a while, so that an ESC is Escape.
  // Keys that nobody has a use for are passed over.
  std::optional<KeyPress> Next(bool last);
  bool empty() const { return bytes_.empty(); }

 private:
  std::optional<KeyPress> TakeSequence(bool last, bool* whole);

  std::string bytes_;
};

}  // namespace trainctl::client
