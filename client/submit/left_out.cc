#include "client/submit/left_out.h"

#include "client/show/format.h"
#include "common/base/size.h"

namespace trainctl::client {

std::vector<LeftOut> LeftOutOf(const std::vector<advice::Exclusion>& ways,
                               const std::map<std::string, int64_t>& devices) {
  std::vector<LeftOut> all;
  for (const advice::Exclusion& exclusion : ways)
    all.push_back({.ways = exclusion.ways,
                   .reason = exclusion.reason,
                   .least_peak_bytes = exclusion.least_peak_bytes});
  for (const auto& [reason, count] : devices) all.push_back({.devices = count, .reason = reason});
  return all;
}

std::string TextOf(const LeftOut& left_out) {
  const auto& [ways, devices, reason, least] = left_out;
  return "Left out, " + (devices > 0 ? Plural(devices, "device") : Plural(ways, "way")) + ": " +
         reason + (least ? " (the least of them " + base::FormatBytes(*least) + ")" : "") + ".";
}

Json RecordOf(const LeftOut& left_out) {
  Json record = {{"reason", left_out.reason}};
  if (left_out.devices > 0) {
    record["devices"] = left_out.devices;
  } else {
    record["ways"] = left_out.ways;
  }
  if (left_out.least_peak_bytes) record["least_peak_bytes"] = *left_out.least_peak_bytes;
  return record;
}

}  // namespace trainctl::client
