#include "worker/rank/data/captions.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/job/data_format.h"
#include "worker/rank/data/broken_pictures.h"
#include "worker/rank/images/decode.h"

namespace trainctl::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMetadata[] = {"metadata.jsonl", "metadata.csv"};

base::Status Look(const images::PictureFile& file, bool decodes) {
  if (decodes) {
    const auto picture = images::DecodeFile(file);
    if (!picture) return picture.error();
    return base::Ok{};
  }
  if (!file.is_whole()) return base::Ok{};  // was there when its row was read
  const std::string& path = file.path;
  std::error_code error;
  if (fs::is_regular_file(path, error)) return base::Ok{};
  if (error) return base::Error{base::Code::kNotFound, path + ": " + error.message()};
  if (!fs::exists(path, error)) return base::Error{base::Code::kNotFound, path + ": no such file"};
  return base::Error{base::Code::kInvalid, path + ": no regular file"};  // as DecodeFile has it
}

images::PictureFile PictureAt(const std::string& path, const PictureSource& source) {
  return {(fs::path(source.rows_file).parent_path() / path).string()};
}

// As tables::CellKind::kPicture has it.
base::Result<images::PictureFile> PictureOfCell(const nlohmann::json& cell, const std::string& key,
                                                const PictureSource& source) {
  std::string name = cell.value("name", "");
  const auto bytes = cell.find("bytes");
  if (bytes != cell.end() && bytes->is_binary()) {
    const auto& binary = bytes->get_binary();
    return source.spool->Append({reinterpret_cast<const char*>(binary.data()), binary.size()},
                                std::move(name));
  }
  if (cell.contains("file")) {
    return images::PictureFile{.path = cell["file"],
                               .begin = cell["begin"],
                               .bytes = cell["size"],
                               .name = std::move(name)};
  }
  if (!name.empty()) return PictureAt(name, source);
  return base::Error{base::Code::kInvalid, key + ": neither bytes nor a path of a picture"};
}

}  // namespace

base::Result<Placeholders> PlaceholdersOf(const job::DataSpec& data, const job::ModelShape& model) {
  const bool has_pictures = data.format == job::DataFormat::kCaptions;
  const auto invalid = [&](const std::string& what, const std::string& expected) {
    return base::Error{base::Code::kInvalid, "data.format \"" + std::string(Name(data.format)) +
                                                 "\": a model of type '" + model.family + "' " +
                                                 what + "; expected " + expected};
  };
  if (has_pictures && !model.image)
    return invalid("takes no pictures", "one that does, or data without pictures");
  if (!has_pictures && model.image)
    return invalid("takes a picture with each row", "\"captions\", or a model of words alone");
  return model.image ? Placeholders{model.image->token, model.image->queries} : Placeholders{};
}

base::Result<std::string> CaptionsFile(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return path;
  for (const std::string_view name : kMetadata) {
    const fs::path file = fs::path(path) / name;
    if (fs::exists(file, error)) return file.string();
  }
  return base::Error{base::Code::kNotFound,
                     path + ": neither metadata.jsonl nor metadata.csv lies in this folder"};
}

base::Result<images::PictureFile> PictureOf(const job::DataSpec& data, const files::JsonObject& row,
                                            const PictureSource& source) {
  const bool is_imagefolder =
      !data.columns.contains("image") && !row.Has("image") && row.Has("file_name");
  const std::string key = is_imagefolder ? "file_name" : job::ColumnOf(data, "image");
  if (!data.columns.contains("image") && !row.Has("image") && !row.Has("file_name"))
    row.Expected(key, "the path of a picture there, or in file_name");
  const nlohmann::json* cell = row.Get(key);
  if (source.spool != nullptr && cell != nullptr && cell->is_object())
    return PictureOfCell(*cell, key, source);
  return PictureAt(row.Text(key), source);
}

base::Result<PictureCounts> CheckPictures(const PictureList& files, job::OnBrokenPicture on_broken,
                                          const PictureSample& sample) {
  const int64_t rows = files.size();
  const int64_t looked_at = std::min(rows, sample.most_found);
  const int64_t decoded = std::min(looked_at, sample.most_decoded);
  PictureCounts counts;
  int64_t bad = 0;
  bool can_be_left_out = false;
  std::string told;
  for (int64_t i = 0; i < looked_at; ++i) {
    const int64_t row = i * rows / looked_at;
    // decoded of the looked_at: those where i · decoded / looked_at grows.
    const bool decodes = i * decoded / looked_at != (i - 1) * decoded / looked_at || i == 0;
    const base::Status seen = Look(files[row], decodes);
    counts.decoded += decodes ? 1 : 0;
    if (seen) continue;
    const base::Error& fault = seen.error();
    if (on_broken == job::OnBrokenPicture::kSkip && fault.code == base::Code::kInvalid) {
      ++counts.broken;
      continue;
    }
    can_be_left_out = can_be_left_out || fault.code == base::Code::kInvalid;
    const std::string place = sample.has_all_rows ? "row " + std::to_string(row) + ": " : "";
    if (++bad <= sample.most_told) told += "\n  " + place + fault.message;
  }
  if (bad == 0 && rows > 0 && counts.broken == rows) {
    return base::Error{base::Code::kInvalid,
                       "none of the " + std::to_string(rows) + " pictures can be read"};
  }
  if (bad == 0) return counts;
  return base::Error{base::Code::kInvalid, std::to_string(bad) + " of " +
                                               std::to_string(looked_at) +
                                               " pictures that were looked at can't be read" +
                                               std::string(can_be_left_out ? kSkipHint : "") +
                                               (sample.has_all_rows ? " (rows from 0):" : ":") +
                                               told + (bad > sample.most_told ? "\n  …" : "")};
}

}  // namespace trainctl::data
