// A text on its way through a tokenizer: cut into pieces, some of them rewritten.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace trainctl::data {

struct Piece {
  std::string_view text;
  bool at_start = false;  // begins where the whole text begins
};

// Owns the texts that were rewritten; the others are views of what the caller holds.
class Pieces {
 public:
  std::string_view Own(std::string text) { return owned_.emplace_back(std::move(text)); }

  std::vector<Piece> list;

 private:
  std::deque<std::string> owned_;
};

}  // namespace trainctl::data
