#include "common/job/link.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace trainctl::job {
namespace {

struct LinkName {
  std::string_view name, short_name;
};

// In the order of the enum.
constexpr std::array<LinkName, 7> kLinkKinds = {{{"unknown", ""},
                                                 {"between sockets", "SYS"},
                                                 {"NUMA node", "NODE"},
                                                 {"PCIe host bridge", "PHB"},
                                                 {"PCIe switches", "PXB"},
                                                 {"one PCIe switch", "PIX"},
                                                 {"NVLink", "NV"}}};

bool IsSameLinkName(std::string_view left, std::string_view right) {
  return std::ranges::equal(left, right, [](unsigned char l, unsigned char r) {
    return std::tolower(l) == std::tolower(r);
  });
}

std::optional<LinkKind> ToldOf(const Links& links, const std::string& uuid) {
  const auto told = links.find(uuid);
  return told == links.end() ? std::nullopt : std::optional(told->second);
}

}  // namespace

std::string_view Name(LinkKind kind) { return kLinkKinds.at(static_cast<size_t>(kind)).name; }

std::optional<LinkKind> ParseLinkKind(std::string_view name) {
  const auto found = std::ranges::find(kLinkKinds, name, &LinkName::name);
  if (found == kLinkKinds.end()) return std::nullopt;
  return static_cast<LinkKind>(found - kLinkKinds.begin());
}

std::optional<LinkKind> FindLinkKind(std::string_view text) {
  for (size_t kind = 1; kind < kLinkKinds.size(); ++kind) {
    const LinkName& known = kLinkKinds[kind];
    if (IsSameLinkName(text, known.name) || IsSameLinkName(text, known.short_name))
      return static_cast<LinkKind>(kind);
  }
  return std::nullopt;
}

std::string LinksText(const Links& links) {
  std::string text;
  for (const auto& [uuid, kind] : links) {
    if (!text.empty()) text += '\n';
    text.append(uuid).append(" ").append(Name(kind));
  }
  return text;
}

std::optional<Links> ParseLinks(std::string_view text) {
  Links links;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const size_t space = line.find(' ');
    if (space == 0 || space == std::string_view::npos || links.size() == kMaxLinks)
      return std::nullopt;
    links[std::string(line.substr(0, space))] =
        ParseLinkKind(line.substr(space + 1)).value_or(LinkKind::kUnknown);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return links;
}

LinkKind LinkBetween(const std::string& left_uuid, const Links& left, const std::string& right_uuid,
                     const Links& right) {
  const std::optional<LinkKind> one = ToldOf(left, right_uuid), other = ToldOf(right, left_uuid);
  if (one && other) return std::min(*one, *other);
  return one ? *one : other.value_or(LinkKind::kUnknown);
}

}  // namespace trainctl::job
