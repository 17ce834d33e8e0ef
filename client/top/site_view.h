// What is seen of a site at one time. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/trainctl.pb.h"

namespace trainctl::client {

struct SiteView {
  std::string server;
  int64_t time = 0;  // when it was so; wall microseconds
  std::vector<v1::WorkerView> workers;
  std::vector<v1::JobView> running;  // and starting and stopping; the oldest first
  std::vector<v1::JobView> queued;   // in the order in which they wait
  std::vector<v1::JobView> ended;    // the newest end first
  std::string problem;               // why it is not seen as it is now; empty: it is

  // In the order in which they are shown.
  std::vector<const v1::JobView*> jobs() const;
  const v1::JobView* Find(const std::string& id) const;  // nullptr: not among them
};

// `unfinished` has the workers too.
SiteView SiteViewOf(std::string server, int64_t time, const v1::ListResponse& unfinished,
                    const v1::ListResponse& ended);

}  // namespace trainctl::client
