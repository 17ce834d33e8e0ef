// Models of the Hugging Face hub by name, and where its cache keeps them on a host. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace trainctl::job {

// "Qwen/Qwen3-0.6B": two parts of letters, digits, '.', '-' and '_', which begin with a letter or a
// digit.
bool IsHubId(std::string_view text);

// The folder of the model within the cache: "models--Qwen--Qwen3-0.6B".
std::string HubFolder(std::string_view id);

// What a path into the cache is of: …/models--Qwen--Qwen3-0.6B/snapshots/REVISION.
struct HubSnapshot {
  std::string id;
  std::string revision;
};
std::optional<HubSnapshot> SnapshotOf(std::string_view path);

}  // namespace trainctl::job
