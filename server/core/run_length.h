// How long jobs run, as far as is known: by resources.time_limit, which is enforced; else by what
// was predicted or measured. Internal to this room.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "server/core/turn.h"

namespace trainctl::core {

// A time that any run is within.
constexpr int64_t kAnyTime = std::numeric_limits<int64_t>::max();

// Whether a run of at most that length ends within a time that it may have. nullopt: it may have
// none; or its length is not known.
inline bool FitsIn(std::optional<int64_t> room, std::optional<int64_t> length) {
  return room && (*room == kAnyTime || (length && *length <= *room));
}

// A job with a time limit of at most so many minutes ends within that time.
int64_t MinutesWithin(const Options& options, int64_t room);

// "12 min", "3 h 5 min", "4 d 17 h": never more than that.
std::string WholeMinutes(int64_t minutes);
// "about 12 min", "less than a minute".
std::string AboutMinutes(int64_t micros);

// How long a waiting job would hold devices at most, in microseconds. That is its time limit with
// the grace of its end, else the predicted time with the margin. nullopt: neither is known.
std::optional<int64_t> LongestRun(const Options& options, const Job& job);
// The same on devices of this class: a prediction holds for the model of device that it names.
std::optional<int64_t> LongestRunOn(const Options& options, const Job& job,
                                    const placement::DeviceClass& device_class);

// TimeLeftOf: ", about 12 min left by its time limit"; empty: not known.
std::string TimeLeftText(const State& state, const Job& job, const Now& now);

// Of a live job that is to hear of it: "lease 'lab' of ann ends 2026-12-01 14:00 UTC: it saves and
// is stopped …". Empty: no lease ends it soon.
std::string LeaseWarning(const State& state, const Job& job, const Now& now);

// When the job's live attempt ends: as it is being stopped; by its time limit, or else at the pace
// of its steps, or as predicted; at the latest by a lease. nullopt: not known, or a prediction has
// passed.
std::optional<base::SteadyMicros> ExpectedEnd(const State& state, const Job& job, const Now& now);

// Brings the live attempt's expected_end up to date, and State::free with it. Changes of a few
// seconds are passed over. Where it is another, or has passed, who waits is looked at again.
void RenewExpectedEnd(Turn& turn, Job& job);

}  // namespace trainctl::core
