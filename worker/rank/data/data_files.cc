#include "worker/rank/data/data_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
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
constexpr std::string_view kTextSuffixes[] = {".jsonl", ".json", ".csv"};
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
  return NoData(folder.string() + ": has several splits; expected one of " + choices +
                ", or its name as data.split");
}

// Files with that suffix, by name. "": of all splits.
base::Result<std::vector<std::string>> FilesIn(const fs::path& folder, std::string_view suffix,
                                               const std::string& split) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string path = entry->path().string();
    if (entry->path().extension() == suffix && (split.empty() || IsOfSplit(path, split)))
      paths.push_back(path);
  }
  if (error) return base::Error{base::Code::kIo, folder.string() + ": " + error.message()};
  std::ranges::sort(paths);
  return paths;
}

// Those of one kind; none where there are none.
base::Result<std::vector<std::string>> TablesIn(const fs::path& folder, const std::string& split) {
  for (const std::string_view suffix : kTableSuffixes) {
    auto found = FilesIn(folder, suffix, split);
    if (!found) return found.error();
    const std::vector<std::string>& paths = *found;
    if (paths.empty()) continue;
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
    auto paths = TablesIn(place, "");
    if (!paths) return paths.error();
    if (!paths->empty()) return DataFiles{std::move(*paths), true};
  }
  return NoData(folder.string() +
                " is a directory, expected a regular file, or a folder of *.parquet files, of "
                "pictures with " +
                "metadata.jsonl or metadata.csv, or that save_to_disk of datasets has written");
}

base::Result<DataFiles> FindFolder(const job::DataSpec& data, const std::string& folder) {
  if (data.format == job::DataFormat::kCaptions) {
    if (auto metadata = CaptionsFile(folder)) return DataFiles{{std::move(*metadata)}};
  }
  if (!Exists(fs::path(folder) / "dataset_dict.json")) return FindTables(folder);
  const auto split = OnlySplit(folder);
  if (!split) return split.error();
  return FindTables(*split);
}

// That of the name.
base::Result<DataFiles> FindSplit(const job::DataSpec& data, const std::string& split) {
  const fs::path folder = data.path;
  if (!base::IsFileName(split)) return NoData("split '" + split + "': expected a name without '/'");
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return NoData(data.path + ": has no split '" + split + "': it is no folder");
  if (fs::is_directory(folder / split, error)) return FindFolder(data, (folder / split).string());
  for (const fs::path& place : {folder, folder / kHubFolder}) {
    if (!Exists(place)) continue;
    auto tables = TablesIn(place, split);
    if (!tables) return tables.error();
    if (!tables->empty()) return DataFiles{std::move(*tables), true};
    std::vector<std::string> texts;
    for (const std::string_view suffix : kTextSuffixes) {
      auto found = FilesIn(place, suffix, split);
      if (!found) return found.error();
      std::ranges::move(*found, std::back_inserter(texts));
    }
    if (texts.size() > 1)
      return NoData(texts[0] + " and " + texts[1] + " are both split '" + split + "'");
    if (!texts.empty()) return DataFiles{std::move(texts)};
  }
  return NoData(data.path + ": has no split '" + split +
                "': neither a folder of that name, nor files such as " + split + ".jsonl or " +
                split + "-00000-of-00001.parquet");
}

// Those of all splits.
base::Result<DataFiles> FindAll(const job::DataSpec& data) {
  std::error_code error;
  const bool is_folder = fs::is_directory(data.path, error);
  const bool has_rows = HasRows(data.format);  // tokens and text may begin with any bytes
  const bool is_table =
      !is_folder && (IsNamedAsTable(data.path) || (has_rows && BeginsAsTable(data.path)));
  if (!is_folder || !has_rows) return DataFiles{{data.path}, is_table};
  return FindFolder(data, data.path);
}

}  // namespace

base::Result<DataFiles> FindDataFiles(const job::DataSpec& data) {
  auto found = data.split ? FindSplit(data, *data.split) : FindAll(data);
  if (found && found->are_tables && !HasRows(data.format)) {
    return NoData(found->paths.front() + ": rows of Arrow or Parquet; data.format \"" +
                  std::string(Name(data.format)) + "\" reads none, \"text\" does");
  }
  return found;
}

}  // namespace trainctl::data
