// Until when a rank may run, as the coordinator said last. It lies in the rank's folder too
// (worker/shim/deadline_file.h), for the next worker. While there is none the rank's shim keeps it.
// No such file: the rank may run on. Not thread-safe.
#pragma once

#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/rank/deadline.h"

namespace trainctl::agent {

class KeptDeadline {
 public:
  KeptDeadline(std::string folder, const base::Clock& clock);

  // As an earlier worker left it. A damaged file is told, and counts for nothing.
  void Read();
  // In place of any before; nullopt: there is none any more. One that has come stays.
  void Set(const std::optional<job::Deadline>& deadline);

  // The deadline once it comes: once for each worker.
  std::optional<job::Deadline> Come();
  // Its shim has stopped the rank for it.
  void HasCome();
  // The one that has come; nullopt: none has.
  std::optional<job::Deadline> Passed() const;

 private:
  void Write() const;

  const std::string folder_;
  const base::Clock& clock_;
  std::optional<job::Deadline> deadline_;
  base::SteadyMicros at_ = 0;
  bool has_come_ = false;
  bool is_told_ = false;
  std::string fault_;  // of the file as it was found
};

}  // namespace trainctl::agent
