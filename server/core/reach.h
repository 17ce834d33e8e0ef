// The devices that a job may use at all. Its constraints may name workers, by host or label, and
// rules of hosts may keep it away. It may avoid some where it failed (retry.h). A class of device
// knows no workers, so such a job has a part of each class. One that asks for links has those that
// are linked so (linked_gangs.h). Pure; internal to this room.
//
// Rules are judged by names here: links only the host can follow. A host whose roots don't hold a
// path by its name is passed over where another one's do. Where no other's do, it is tried.
#pragma once

#include "server/core/state.h"

namespace trainctl::core {

// nullptr: any device of a class will do. The job names and avoids no workers, asks for no links,
// and no rules keep it away.
const Reach* ReachOf(const State& state, const Job& job);

// Adds the device to it.
void CountDevice(const placement::FreeDevices& devices, placement::DeviceId id, Reach* reach);

// Of the class; nullptr: none.
const Reach::Part* PartOf(const Reach& reach, placement::ClassId id);

// What rules of hosts say of the job, as they are now; empty: they let it go anywhere. Jobs of one
// such text go to the same hosts.
std::string RulesOn(const State& state, const Job& job);
// Rules have changed: who waits in the queue stands there by what they say now.
void RequeueByRules(State& state);

// Why rules keep the job away from hosts that else would do: "b: data.path: /data/x lies outside
// …". Empty: they don't.
std::string WhyBarred(const State& state, const Job& job);

// As far as its worker goes.
bool Reaches(const State& state, const Job& job, placement::DeviceId device);

// How many devices of the class the job reaches: free or not, LOST and drained ones too.
ReachCount CountOf(const State& state, const Job& job, placement::ClassId id);
// Of those, how many are free now.
int64_t FreeOf(const State& state, const Job& job, placement::ClassId id);

}  // namespace trainctl::core
