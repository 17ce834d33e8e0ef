#include "worker/rank/files/preprocessor_config.h"

#include <nlohmann/json.hpp>

#include "worker/rank/files/json_file.h"

namespace trainctl::files {
namespace {

using nlohmann::json;

constexpr size_t kMostPreprocessorBytes = 1 << 20;
constexpr int64_t kDefaultSide = 384, kMostSide = 1 << 16;
constexpr int64_t kBicubic = 3;  // Pillow's number of it

// A number stands for both sides.
void CheckSize(const JsonObject& processor, int64_t side) {
  const json* size = processor.Get("size");
  const bool has_sides = size != nullptr && size->is_object();
  const std::string expected = std::to_string(side) + ", config.json's image_size";
  if (!has_sides) {
    if (processor.Integer("size", 1, kMostSide, kDefaultSide) != side)
      processor.Expected("size", expected);
    return;
  }
  const JsonObject sides = processor.Object("size");
  for (const char* key : {"height", "width"}) {
    if (sides.Integer(key, 1, kMostSide) != side) sides.Expected(key, expected);
  }
}

void CheckProcessor(const JsonObject& processor, int64_t side) {
  for (const char* key : {"do_convert_rgb", "do_normalize", "do_rescale", "do_resize"})
    processor.Only(key, true);
  for (const char* key : {"do_center_crop", "do_pad"}) processor.Only(key, false);
  processor.Only("resample", kBicubic);
  processor.Only("rescale_factor", 1.0 / 255);
  processor.Only("image_mean", json::array({0.48145466, 0.4578275, 0.40821073}));
  processor.Only("image_std", json::array({0.26862954, 0.26130258, 0.27577711}));
  CheckSize(processor, side);
}

// key: where the file has it; "": it is the file.
base::Status CheckFile(const std::string& directory, const std::string& name,
                       const std::string& key, int64_t side) {
  const auto check = [&](const JsonObject& file) {
    if (key.empty()) {
      CheckProcessor(file, side);
    } else if (file.Get(key) != nullptr) {
      CheckProcessor(file.Object(key), side);
    }
  };
  return ReadJsonFile(directory, name, check, kMostPreprocessorBytes);
}

}  // namespace

base::Status CheckPreprocessor(const std::string& directory, int64_t side) {
  const auto preprocessor = CheckFile(directory, "preprocessor_config.json", "", side);
  if (!preprocessor) return preprocessor;
  return CheckFile(directory, "processor_config.json", "image_processor", side);
}

}  // namespace trainctl::files
