#include "worker/rank/data/data_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/base/file.h"
#include "common/job/data_format.h"
#include "worker/rank/data/captions.h"
#include "worker/rank/data/shard_names.h"
#include "worker/rank/files/json_object.h"
#include "worker/rank/files/json_text.h"
#include "worker/rank/tables/open_table.h"

namespace trainctl::data {
namespace {

namespace fs = std::filesystem;
using files::JsonObject;

constexpr size_t kMostStateBytes = 16 << 20;
constexpr std::string_view kTableSuffixes[] = {".parquet", ".arrow"};
constexpr std::string_view kHubFolder = "data";

base::Error NoData(const std::string& message) { return {base::Code::kInvalid, message}; }

bool HasRows(job::DataFormat format) { return !job::ColumnsOf(format).empty(); }

bool Exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

bool IsNamedAsTable(const fs::path& path) {
  const std::string suffix = path.extension().string();
  return suffix == ".parquet" || suffix == ".arrow" || suffix == ".feather";
}

// What cannot be opened is left to who reads it.
bool BeginsAsTable(const std::string& path) {
  char head[tables::kMagicBytes] = {};
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  std::ifstream file(path, std::ios::binary);
  file.read(head, sizeof head);
  return tables::TableFormatOf({head, static_cast<size_t>(file.gcount())}).has_value();
}

// A small file of datasets' own.
base::Result<nlohmann::json> ReadState(const fs::path& path) {
  const auto text = base::ReadRegularFile(path.string(), kMostStateBytes);
  if (!text) return text.error();
  return files::ParseJsonText(*text, path.string());
}

// The files that state.json names, all beside it.
base::Result<std::vector<std::string>> SavedFiles(const fs::path& folder) {
  const fs::path path = folder / "state.json";
  const auto state = ReadState(path);
  if (!state) return state.error();
  files::Fault fault;
  std::vector<std::string> paths;
  const JsonObject object(*state, path.string() + ": ", &fault);
  for (const JsonObject& file : object.Objects("_data_files")) {
    const std::string name = file.Text("filename");
    if (!base::IsFileName(name)) file.Expected("filename", "the name of a file beside it");
    paths.push_back((folder / name).string());
  }
  if (!object.Objects("_indices_data_files").empty())
    object.Fail("its rows are chosen by a file of indices; save it again by a newer save_to_disk");
  if (fault) return *fault;
  if (paths.empty()) return NoData(path.string() + ": names no _data_files");
  return paths;
}

base::Result<std::string> OnlySplit(const fs::path& folder) {
  const fs::path path = folder / "dataset_dict.json";
  const auto dict = ReadState(path);
  if (!dict) return dict.error();
  const auto splits = dict->is_object() ? dict->find("splits") : dict->end();
  std::vector<std::string> names;
  for (size_t i = 0; splits != dict->end() && splits->is_array() && i < splits->size(); ++i) {
    const nlohmann::json& name = (*splits)[i];
    if (!name.is_string() || !base::IsFileName(name.get<std::string>()))
      return NoData(path.string() + ": splits: expected names of folders beside it");
    names.push_back(name.get<std::string>());
  }
  if (names.empty()) return NoData(path.string() + ": names no splits");
  if (names.size() == 1) return (folder / names[0]).string();
  std::string choices;
  for (const std::string& name : names)
    choices += (choices.empty() ? "'" : ", '") + (folder / name).string() + "'";
  return NoData(folder.string() + ": has several splits; expected one of " + choices);
}

// Those of one kind, by name; none where there are none.
base::Result<std::vector<std::string>> TablesIn(const fs::path& folder) {
  for (const std::string_view suffix : kTableSuffixes) {
    std::vector<std::string> paths;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
      if (entry->path().extension() == suffix) paths.push_back(entry->path().string());
    }
    if (error) return base::Error{base::Code::kIo, folder.string() + ": " + error.message()};
    if (paths.empty()) continue;
    std::ranges::sort(paths);
    if (auto whole = CheckShards(folder.string(), paths); !whole) return whole.error();
    return paths;
  }
  return std::vector<std::string>{};
}

base::Result<DataFiles> FindTables(const fs::path& folder) {
  if (!Exists(folder))
    return base::Error{base::Code::kNotFound, folder.string() + ": no such folder"};
  if (Exists(folder / "state.json")) {
    auto paths = SavedFiles(folder);
    if (!paths) return paths.error();
    return DataFiles{std::move(*paths), true};
  }
  for (const fs::path& place : {folder, folder / kHubFolder}) {
    if (!Exists(place)) continue;
    auto paths = TablesIn(place);
    if (!paths) return paths.error();
    if (!paths->empty()) return DataFiles{std::move(*paths), true};
  }
  return NoData(folder.string() +
                " is a directory, expected a regular file, or a folder of *.parquet files, of "
                "pictures with " +
                "metadata.jsonl or metadata.csv, or that save_to_disk of datasets has written");
}

}  // namespace

base::Result<DataFiles> FindDataFiles(const job::DataSpec& data) {
  std::error_code error;
  const bool is_folder = fs::is_directory(data.path, error);
  const bool is_table = !is_folder && (IsNamedAsTable(data.path) || BeginsAsTable(data.path));
  if (is_table && !HasRows(data.format)) {
    return NoData(data.path + ": rows of Arrow or Parquet; data.format \"" +
                  std::string(Name(data.format)) + "\" reads none, \"text\" does");
  }
  if (!is_folder || !HasRows(data.format)) return DataFiles{{data.path}, is_table};
  if (data.format == job::DataFormat::kCaptions) {
    if (auto metadata = CaptionsFile(data.path)) return DataFiles{{std::move(*metadata)}};
  }
  if (!Exists(fs::path(data.path) / "dataset_dict.json")) return FindTables(data.path);
  const auto split = OnlySplit(data.path);
  if (!split) return split.error();
  return FindTables(*split);
}

}  // namespace trainctl::data
