// With a coordinator that has answered before and now does not: it may be restarting, and jobs go
// on without it. Whoever follows something asks again for ten minutes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/base/result.h"

namespace trainctl::client {

class Patience {
 public:
  static constexpr double kRetrySeconds = 2;

  // `note` tells people when silence begins and when it is over.
  Patience(const base::Clock& clock, std::function<void(const std::string&)> note)
      : clock_(clock), note_(std::move(note)) {}

  // It answered.
  void Heard();
  // Whether to ask again, in kRetrySeconds: it answered once, the error is its silence, and that
  // has not lasted too long.
  bool Bear(const base::Error& error);

 private:
  const base::Clock& clock_;
  std::function<void(const std::string&)> note_;
  bool answered_ = false;
  std::optional<base::SteadyMicros> silent_since_;
};

}  // namespace trainctl::client
