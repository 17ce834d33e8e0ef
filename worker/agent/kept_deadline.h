// Until when a rank may run, as the coordinator said last. It lies in the rank's folder too, so
// that the next worker keeps it:
//   deadline.json   {"at", "grace_us", "outcome", "message", "has_come"}, at by this host's wall
//                   clock. No such file: the rank may run on.
// While the worker lives a jump of that clock moves nothing. Not thread-safe.
#pragma once

#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/rank/deadline.h"

namespace trainctl::agent {

class KeptDeadline {
 public:
  KeptDeadline(std::string folder, const base::Clock& clock);

  // As an earlier worker left it.
  void Read();
  // In place of any before; nullopt: there is none any more. One that has come stays.
  void Set(const std::optional<job::Deadline>& deadline);

  // The deadline once it comes: once for each worker.
  std::optional<job::Deadline> Come();
  // The one that has come; nullopt: none has.
  std::optional<job::Deadline> Passed() const;

 private:
  void Write() const;

  const std::string file_;
  const base::Clock& clock_;
  std::optional<job::Deadline> deadline_;
  base::SteadyMicros at_ = 0;
  bool has_come_ = false;
  bool is_told_ = false;
};

}  // namespace trainctl::agent
