// What advice leaves out, and why: ways to run a job, and devices of the site. Each reason is the
// same in the terminal, in records and in pictures. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/show/output.h"
#include "common/advice/way.h"

namespace trainctl::client {

// For one reason. One of the two numbers is 0.
struct LeftOut {
  int64_t ways = 0;
  int64_t devices = 0;
  std::string reason;
  std::optional<int64_t> least_peak_bytes = {};  // of ways that need more memory than there is
};

// Ways first, most of them first. The devices: see advice/device_choice.h.
std::vector<LeftOut> LeftOutOf(const std::vector<advice::Exclusion>& ways,
                               const std::map<std::string, int64_t>& devices);

// "Left out, 12 ways: more memory than a device has (the least of them 3.00 GiB)."
std::string TextOf(const LeftOut& left_out);
// {"ways" or "devices", "reason", "least_peak_bytes" where that is known}.
Json RecordOf(const LeftOut& left_out);

}  // namespace trainctl::client
