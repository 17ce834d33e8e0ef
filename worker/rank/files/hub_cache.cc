#include "worker/rank/files/hub_cache.h"

#include <filesystem>

#include "common/base/file.h"
#include "common/job/hub_id.h"
#include "worker/rank/files/adapter_config.h"
#include "worker/rank/files/hf_directory.h"

namespace trainctl::files {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxRefBytes = 256;

base::Error Missing(const std::string& id, const std::string& what, const std::string& revision) {
  return {base::Code::kNotFound, "'" + id + "' " + what + "; fetch it on this host: hf download " +
                                     id + (revision.empty() ? "" : " --revision " + revision)};
}

// The name of a file of the snapshot whose blob is not there.
std::string DanglingLink(const std::string& snapshot) {
  std::error_code error;
  for (fs::recursive_directory_iterator entry(snapshot, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code broken;
    if (entry->is_symlink(broken) && !fs::exists(entry->path(), broken))
      return entry->path().filename().string();
  }
  return "";
}

bool IsRevision(const std::string& text) {
  return !text.empty() && text[0] != '.' && text.find('/') == std::string::npos;
}

base::Result<std::string> NewestRevision(const std::string& id, const std::string& model) {
  const std::string ref = model + "/refs/main";
  std::error_code error;
  if (!fs::exists(ref, error))
    return Missing(id, "is in the Hugging Face cache without its newest revision (" + ref + ")",
                   "");
  auto text = base::ReadRegularFile(ref, kMaxRefBytes);
  if (!text) return text.error();
  text->erase(text->find_last_not_of(" \r\n") + 1);
  if (IsRevision(*text)) return *std::move(text);
  return base::Error{base::Code::kInvalid, ref + ": expected the name of a revision"};
}

// Of a model that is no adapter's base.
base::Result<FoundModel> FindWhole(const std::string& path, const std::string& cache_folder,
                                   const std::string& revision) {
  std::error_code error;
  if (!job::IsHubId(path)) {
    if (fs::is_regular_file(path, error))
      return base::Error{base::Code::kInvalid, path + " is a file, expected the folder of a model"};
    return FoundModel{path, ""};
  }
  const std::string model = cache_folder + "/" + job::HubFolder(path);
  if (cache_folder.empty() || !fs::is_directory(model, error)) {
    return Missing(path,
                   "is neither a folder beside the job file nor a model in this host's Hugging "
                   "Face cache '" +
                       cache_folder + "'",
                   revision);
  }
  auto wanted = revision.empty() ? NewestRevision(path, model) : revision;
  if (!wanted) return wanted.error();
  const std::string snapshot = model + "/snapshots/" + *wanted;
  if (!fs::is_directory(snapshot, error))
    return Missing(path, "is in the Hugging Face cache, but not its revision " + *wanted, *wanted);
  const std::string dangling = DanglingLink(snapshot);
  if (!dangling.empty() || !fs::exists(snapshot + "/config.json", error)) {
    const std::string lacks = dangling.empty() ? "config.json" : dangling;
    return Missing(path, "is in the Hugging Face cache only in part: " + lacks + " is missing",
                   *wanted);
  }
  return FoundModel{snapshot, *wanted};
}

}  // namespace

base::Result<FoundModel> FindModel(const std::string& path, const std::string& cache_folder,
                                   const std::string& revision) {
  const bool is_adapter =
      !job::IsHubId(path) && HasFile(path, kAdapterConfigFile) && !HasFile(path, "config.json");
  if (!is_adapter) return FindWhole(path, cache_folder, revision);
  const auto config = ReadAdapterConfig(path);
  if (!config) return config.error();
  auto base = FindWhole(config->base_model, cache_folder, revision);
  if (!base) return base::Error{base.error().code, path + "'s base model: " + base.error().message};
  base->adapter = path;
  return base;
}

}  // namespace trainctl::files
