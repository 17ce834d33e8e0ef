#include "worker/rank/data/job_fence.h"

#include <filesystem>

#include "common/base/file_fence.h"
#include "worker/rank/tables/open_table.h"

namespace trainctl::data {

base::Status EncloseJob(const base::FileRoots& roots, const CacheFolders& caches,
                        const std::string& scratch) {
  if (roots.read.empty() && roots.write.empty()) return base::Ok{};
  std::error_code ignored;
  if (!caches.tokens.empty()) std::filesystem::create_directories(caches.tokens, ignored);
  if (!roots.read.empty()) tables::PreloadLibrary();  // whose folders nobody knows later
  base::FileFence fence{.roots = roots, .also_read = {}, .also_write = {}};
  if (!caches.models.empty()) fence.also_read.push_back(caches.models);
  for (const std::string& folder : {caches.tokens, scratch})
    if (!folder.empty()) fence.also_write.push_back(folder);
  return base::Enclose(fence);
}

}  // namespace trainctl::data
