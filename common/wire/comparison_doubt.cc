#include "common/wire/comparison_doubt.h"

#include <algorithm>

#include "proto/trainctl.pb.h"

namespace trainctl::wire {
namespace {

bool IsDoubtful(const v1::CompareResponse& response, const std::string& section) {
  return std::ranges::any_of(response.warning_sections(), [&](const v1::SectionNames& names) {
    return std::ranges::count(names.sections(), section) > 0;
  });
}

}  // namespace

bool IsCompared(const v1::CompareRow& row) {
  return std::ranges::any_of(row.values(), [](const v1::CompareValue& value) {
    return value.best() || value.has_delta();
  });
}

std::string DoubtOf(const v1::CompareResponse& response, const std::string& section) {
  if (!IsDoubtful(response, section)) return "";
  const bool is_compared = std::ranges::any_of(response.rows(), [&](const v1::CompareRow& row) {
    return row.section() == section && IsCompared(row);
  });
  return is_compared ? "in part not comparable" : "not comparable";
}

void AddDoubts(v1::CompareResponse* response) {
  for (const v1::SectionNames& names : response->warning_sections()) {
    for (const std::string& section : names.sections())
      (*response->mutable_doubtful_sections())[section] = DoubtOf(*response, section);
  }
}

}  // namespace trainctl::wire
