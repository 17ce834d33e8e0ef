// How many refused calls the audit log takes: whoever is refused again and again must neither fill
// the disk nor hide others.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/base/clock.h"

namespace trainctl::coordinator {

class RefusalBudget {
 public:
  static constexpr int64_t kMostOfActor = 100;  // in a period
  static constexpr int64_t kPeriodMicros = 60'000'000;

  // Whether this call is recorded.
  bool Take(const std::string& actor);

  struct Unrecorded {
    std::string actor;
    int64_t calls = 0;
  };
  // Once a period is over: who was refused more often than was recorded. It then begins anew.
  std::vector<Unrecorded> OnTick(base::SteadyMicros now);

 private:
  base::SteadyMicros begin_ = 0;
  std::map<std::string, int64_t> calls_;  // by actor
};

}  // namespace trainctl::coordinator
