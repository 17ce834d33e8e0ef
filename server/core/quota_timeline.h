// What a user's jobs are expected to hold of their quota over time: for forecasts. Pure; internal
// to this room.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "server/core/state.h"

namespace trainctl::core {

class QuotaTimeline {
 public:
  // With what the user's live jobs hold, until their expected ends. The user has a quota.
  QuotaTimeline(const State& state, const std::string& user);

  // From when on, at `from` or later, the quota has room for so many devices more. It has it for
  // `length` microseconds; nullopt: for ever. Returns nullopt if that is not known, or never so.
  std::optional<base::SteadyMicros> RoomFrom(int64_t devices, base::SteadyMicros from,
                                             std::optional<int64_t> length) const;
  // A job is to hold so many from then on.
  void Take(int64_t devices, base::SteadyMicros from, std::optional<int64_t> length);
  // It is not, as it was taken.
  void Return(int64_t devices, base::SteadyMicros from, std::optional<int64_t> length) {
    Take(-devices, from, length);
  }

 private:
  int64_t quota_;
  std::map<base::SteadyMicros, int64_t> changes_;  // of what is held; the first is at all times
};

}  // namespace trainctl::core
