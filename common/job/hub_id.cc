#include "common/job/hub_id.h"

#include <algorithm>
#include <cctype>

namespace trainctl::job {
namespace {

constexpr size_t kLongestPart = 96;
constexpr std::string_view kModelsPrefix = "models--", kHubSeparator = "--",
                           kSnapshots = "/snapshots/";

bool IsAlphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool IsPart(std::string_view part) {
  const auto allowed = [](char c) { return IsAlphanumeric(c) || c == '.' || c == '-' || c == '_'; };
  return !part.empty() && part.size() <= kLongestPart && IsAlphanumeric(part.front()) &&
         std::ranges::all_of(part, allowed) && part.find(kHubSeparator) == part.npos;
}

}  // namespace

bool IsHubId(std::string_view text) {
  const size_t slash = text.find('/');
  return slash != text.npos && IsPart(text.substr(0, slash)) && IsPart(text.substr(slash + 1));
}

std::string HubFolder(std::string_view id) {
  const size_t slash = id.find('/');
  return std::string(kModelsPrefix)
      .append(id.substr(0, slash))
      .append(kHubSeparator)
      .append(id.substr(slash + 1));
}

std::optional<HubSnapshot> SnapshotOf(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  const size_t snapshots = path.rfind(kSnapshots);
  if (snapshots == path.npos) return std::nullopt;
  const std::string_view revision = path.substr(snapshots + kSnapshots.size());
  std::string_view folder = path.substr(0, snapshots);
  folder.remove_prefix(folder.rfind('/') + 1);
  if (!folder.starts_with(kModelsPrefix) || revision.find('/') != revision.npos)
    return std::nullopt;
  std::string id(folder.substr(kModelsPrefix.size()));
  const size_t separator = id.find(kHubSeparator);
  if (separator == id.npos) return std::nullopt;
  id.replace(separator, kHubSeparator.size(), "/");
  if (!IsHubId(id)) return std::nullopt;
  return HubSnapshot{std::move(id), std::string(revision)};
}

}  // namespace trainctl::job
