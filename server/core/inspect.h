// A job that was accepted uninspected is looked at before it is placed. Internal to this room.
//
// Such a job waits in State::uninspected and holds back nobody: its inspection may take a minute,
// or hang. Workers are asked in the queue's order, an idle one first. Only a few are asked at once,
// of all jobs and of each user. A job that was submitted by force is looked at once its devices are
// free. Its paths may be there only then; until then it waits in the queue as any other.
#pragma once

#include <string>

#include "server/core/turn.h"

namespace trainctl::core {

// Whether a worker is to look at the job before it is placed: until one did, or max_inspections
// times none did.
bool NeedsInspection(const State& state, const Job& job);

// A QUEUED job takes its place in the queue, or in another lane: see Lane. Returns the job of its
// group that waits again in its stead, if there is one.
std::optional<base::JobId> Enqueue(State& state, Job& job);
// As well; watchers of the job that waits again are told.
void Enqueue(Turn& turn, Job& job);
// Of a QUEUED job, wherever it waits.
void LeaveQueue(State& state, Job& job);

// A job whose turn has come, out of the queue: it is looked at first.
void InspectFirst(Turn& turn, Job& job);

// Asks workers to look at jobs, as far as the bounds allow. JobInspected answers.
void AskForInspections(Turn& turn);

// Why a job of State::uninspected waits.
std::string InspectionReason(const State& state, const Job& job, const Now& now);

}  // namespace trainctl::core
