#include "worker/rank/data/cache_folders.h"

namespace trainctl::data {
namespace {

bool IsAbsolute(const std::string& path) { return path.starts_with('/'); }

std::string HubFolderOf(const CacheEnvironment& environment, const std::string& cache) {
  if (IsAbsolute(environment.hf_hub_cache)) return environment.hf_hub_cache;
  if (IsAbsolute(environment.hf_home)) return environment.hf_home + "/hub";
  return cache.empty() ? "" : cache + "/huggingface/hub";
}

}  // namespace

CacheEnvironment ReadCacheEnvironment(const std::function<std::string(const char*)>& variable) {
  return {.hf_hub_cache = variable("HF_HUB_CACHE"),
          .hf_home = variable("HF_HOME"),
          .xdg_cache_home = variable("XDG_CACHE_HOME"),
          .home = variable("HOME")};
}

CacheFolders CacheFoldersOf(const CacheEnvironment& environment) {
  std::string cache;
  if (IsAbsolute(environment.xdg_cache_home))
    cache = environment.xdg_cache_home;
  else if (IsAbsolute(environment.home))
    cache = environment.home + "/.cache";
  return {.tokens = cache.empty() ? "" : cache + "/trainctl/tokens",
          .models = HubFolderOf(environment, cache)};
}

}  // namespace trainctl::data
