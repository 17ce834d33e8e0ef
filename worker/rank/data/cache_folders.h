// The folders of a user on this host in which a rank looks for what is there already.
#pragma once

#include <functional>
#include <string>

namespace trainctl::data {

struct CacheFolders {
  std::string tokens;  // tokenized data (token_cache.h); "": nowhere
  std::string models;  // the Hugging Face cache (files/hub_cache.h); "": there is none
};

// What their places depend on; "" is not set.
struct CacheEnvironment {
  std::string hf_hub_cache, hf_home, xdg_cache_home, home;
};

// Asks for each variable by its name; the answer "" is not set.
CacheEnvironment ReadCacheEnvironment(const std::function<std::string(const char*)>& variable);

// As huggingface_hub and XDG's Base Directory Specification say. Relative paths are no places.
CacheFolders CacheFoldersOf(const CacheEnvironment& environment);

}  // namespace trainctl::data
