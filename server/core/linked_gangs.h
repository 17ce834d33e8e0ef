// Jobs that ask for links between their devices (common/job/linked_gang.h): which of a class could
// be their gang, and when. Such a job reaches those devices only that are in some gang for it
// (reach.h). Nobody else pays for it. Pure; internal to this room.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "server/core/state.h"

namespace trainctl::core {

// What the job asks for; nullopt: nothing.
const std::optional<job::Constraint>& LinksOf(const Job& job);

// Adds to what the job reaches those of these workers that are in some gang for it. It asks for
// links.
void ReachLinked(const State& state, const Job& job, const std::vector<const Worker*>& workers,
                 Reach* reach);

// Whether the class has some gang for the job, of devices that are free or not. Leased ones count
// with those of no lease. `open`: neither they nor drained ones count. True of a job that asks for
// no links.
bool HasGang(const State& state, const Job& job, placement::ClassId id, bool open = false);

// Of the wanted devices of the class that the job reaches, the most that are linked as it asks; not
// above its number.
using IsWanted = std::function<bool(const Worker&)>;
int64_t MostLinkedOf(const State& state, const Job& job, placement::ClassId id,
                     const IsWanted& is_wanted);

// When such a gang is free on one of the hosts first, and under no lease while the job runs;
// nullopt: not known. `whole_from`: of an exclusive job when it may have a host.
struct LinkedStart {
  base::SteadyMicros at = 0;
  std::string host;
};
using WholeHostFrom =
    std::function<std::optional<base::SteadyMicros>(const std::vector<Worker*>& host)>;
std::optional<LinkedStart> LinkedStartOn(const State& state, const Job& job, placement::ClassId id,
                                         const Now& now, const WholeHostFrom& whole_from);

// "gpu.links =NVLink"; empty: it asks for none.
std::string LinksText(const Job& job);
// Of a job for which enough devices are free: "; at most 2 of them are linked so".
std::string FreeLinkedText(const State& state, const Job& job, placement::ClassId id);

}  // namespace trainctl::core
