// A document that is made once for all pages that look at it within a moment. Not thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/result.h"

namespace trainctl::web {

class SharedDocument {
 public:
  static constexpr base::SteadyMicros kMoment = 500'000;

  using Text = std::shared_ptr<const std::string>;
  using Take = std::function<void(base::Result<Text>)>;
  // Gives what was made within the last moment, at once; else what is made, once it is. `make`
  // makes it, unless somebody waits for that already. An error is not kept. It outlives what `make`
  // begins.
  void Look(base::SteadyMicros now, const std::function<void(Take)>& make, Take take);

  // Nobody waits for it, and whoever looks now has it made anew.
  bool IsOver(base::SteadyMicros now) const { return waiting_.empty() && now - made_ > kMoment; }

 private:
  Text text_;
  base::SteadyMicros made_ = 0;  // when making it began
  std::vector<Take> waiting_;
};

}  // namespace trainctl::web
