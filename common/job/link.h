// How two GPUs of one host reach each other, as NVML tells it. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace trainctl::job {

// From the farthest to the closest.
enum class LinkKind {
  kUnknown,
  kBetweenSockets,
  kNumaNode,
  kHostBridge,
  kSwitches,
  kOneSwitch,
  kNvlink
};

// "NVLink", "one PCIe switch", "PCIe switches", "PCIe host bridge", "NUMA node", "between sockets",
// "unknown".
std::string_view Name(LinkKind kind);
std::optional<LinkKind> ParseLinkKind(std::string_view name);

// To the other GPUs of the host, by their UUIDs.
using Links = std::map<std::string, LinkKind>;

constexpr size_t kMaxLinks = 64;

}  // namespace trainctl::job
