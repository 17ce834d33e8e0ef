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
// In any case such a name, or that of `nvidia-smi topo -m`: NV, PIX, PXB, PHB, NODE, SYS. nullopt:
// it is none, or "unknown".
std::optional<LinkKind> FindLinkKind(std::string_view text);

// To the other GPUs of the host, by their UUIDs.
using Links = std::map<std::string, LinkKind>;

constexpr size_t kMaxLinks = 64;

// Of a line each: "GPU-1 NVLink". Empty: none.
std::string LinksText(const Links& links);
// The same backwards; a kind that a newer version knows is kUnknown. nullopt: a line is none, or
// there are more than kMaxLinks.
std::optional<Links> ParseLinks(std::string_view text);

// Between two devices, as they tell it themselves: where they differ, the farther. Where one tells
// nothing of the other, the other's word.
LinkKind LinkBetween(const std::string& left_uuid, const Links& left, const std::string& right_uuid,
                     const Links& right);

}  // namespace trainctl::job
