// The time that jobs are told of: the coordinator's, whatever the clock here says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <ranges>

#include "common/base/clock.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

// When the coordinator told of the jobs, of the last where they differ, by its own clock: what has
// passed of a run or a wait is counted to it. Of no job, and of a coordinator that does not tell
// it: the clock here.
template <std::ranges::range Views>
int64_t SiteTime(const Views& views, const base::Clock& clock) {
  int64_t told_at = 0;
  for (const v1::JobView& view : views) told_at = std::max(told_at, view.told_at());
  return told_at > 0 ? told_at : clock.Wall();
}

inline int64_t SiteTime(const v1::JobView& view, const base::Clock& clock) {
  return SiteTime(std::views::single(std::cref(view)), clock);
}

}  // namespace trainctl::client
