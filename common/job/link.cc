#include "common/job/link.h"

#include <algorithm>
#include <array>

namespace trainctl::job {
namespace {

constexpr std::array<std::string_view, 7> kLinkKinds = {
    "unknown",       "between sockets", "NUMA node", "PCIe host bridge",
    "PCIe switches", "one PCIe switch", "NVLink"};  // in the order of the enum

}  // namespace

std::string_view Name(LinkKind kind) { return kLinkKinds.at(static_cast<size_t>(kind)); }

std::optional<LinkKind> ParseLinkKind(std::string_view name) {
  const auto found = std::ranges::find(kLinkKinds, name);
  if (found == kLinkKinds.end()) return std::nullopt;
  return static_cast<LinkKind>(found - kLinkKinds.begin());
}

}  // namespace trainctl::job
