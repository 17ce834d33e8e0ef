// How states of workers are shown. Pure.
#pragma once

#include <string>
#include <string_view>

#include "client/show/text_table.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

// Of LOST, BAD, DIRTY, and what this version does not know: bad. DRAINED was asked for by somebody.
Style StyleOfWorkerState(std::string_view state);

struct WorkerCounts {
  int devices = 0, busy = 0, lost = 0, bad = 0, suspect = 0, dirty = 0;
  int drained = 0, slow = 0;  // in whatever state

  void Add(const v1::WorkerView& worker);
  // ", 1 lost, 2 drained": what is not in order; empty: all is. not_free: what DIRTY is called.
  std::string TroubleText(std::string_view not_free) const;
};

}  // namespace trainctl::client
