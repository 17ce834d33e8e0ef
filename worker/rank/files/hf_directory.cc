#include "worker/rank/files/hf_directory.h"

#include <filesystem>

#include "common/base/file.h"
#include "common/base/regular_file.h"
#include "common/base/saved_folder.h"
#include "worker/rank/files/litgpt_config.h"
#include "worker/rank/files/mapped_file.h"
#include "worker/rank/files/model_config.h"
#include "worker/rank/files/weights_type.h"

namespace trainctl::files {

namespace fs = std::filesystem;

namespace {

// With the rights of a file that is made there, not those of the first.
base::Status CopyWhole(const std::string& from, const std::string& to) {
  const auto file = MappedFile::Open(from);
  if (!file) return file.error();
  return base::WriteFileAtomically(to, file->text());
}

// Of the companion files, and of templates within their folder.
std::vector<std::string> NamesOfCompanions(const std::string& directory) {
  std::vector<std::string> names;
  for (const std::string_view name : base::kCompanionFiles) {
    if (HasFile(directory, std::string(name))) names.emplace_back(name);
  }
  const std::string folder(base::kMoreTemplatesFolder);
  std::error_code error;  // mostly there is none
  for (fs::directory_iterator at(directory + "/" + folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() == ".jinja")
      names.push_back(folder + "/" + at->path().filename().string());
  }
  return names;
}

base::Status SayWeightsType(const std::string& directory, std::string_view type) {
  const std::string path = directory + "/config.json";
  const auto text = base::ReadRegularFile(path, kMaxConfigBytes);
  if (!text) return text.error();
  const auto with_type = WithWeightsType(*text, type, path);
  if (!with_type) return with_type.error();
  return *with_type == *text ? base::Status(base::Ok{})
                             : base::WriteFileAtomically(path, *with_type);
}

}  // namespace

bool HasFile(const std::string& directory, const std::string& name) {
  std::error_code ignored;
  return std::filesystem::exists(directory + "/" + name, ignored);
}

base::Result<std::vector<std::string>> CopyCompanionFiles(const std::string& from,
                                                          const std::string& to,
                                                          std::string_view weights_type) {
  std::vector<std::string> copied;
  if (!HasFile(from, "config.json")) {
    if (!HasFile(from, kLitGptConfigFile))
      return base::Error{base::Code::kNotFound, "no config.json in '" + from + "'"};
    const auto shape = ReadModelConfig(from);
    if (!shape) return shape.error();
    if (auto written = base::WriteFileAtomically(to + "/config.json", ModelConfigText(*shape));
        !written)
      return written.error();
    copied.push_back("config.json");
  }
  for (const std::string& name : NamesOfCompanions(from)) {
    std::error_code shown_by_the_copy;
    if (name.starts_with(base::kMoreTemplatesFolder))
      fs::create_directory(to + "/" + std::string(base::kMoreTemplatesFolder), shown_by_the_copy);
    if (auto done = CopyWhole(from + "/" + name, to + "/" + name); !done) return done.error();
    copied.push_back(name);
  }
  if (base::Status said = SayWeightsType(to, weights_type); !said.ok()) return said.error();
  return copied;
}

}  // namespace trainctl::files
