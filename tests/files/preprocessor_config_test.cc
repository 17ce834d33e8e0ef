#include "worker/rank/files/preprocessor_config.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "common/base/file.h"
#include "tests/checkout.h"
#include "tests/files/scratch_directory.h"

namespace trainctl::files {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// Of blip2-opt-2.7b as its authors publish it.
const json kPublished = {{"do_convert_rgb", true},
                         {"do_normalize", true},
                         {"do_rescale", true},
                         {"do_resize", true},
                         {"image_mean", {0.48145466, 0.4578275, 0.40821073}},
                         {"image_processor_type", "BlipImageProcessor"},
                         {"image_std", {0.26862954, 0.26130258, 0.27577711}},
                         {"processor_class", "Blip2Processor"},
                         {"resample", 3},
                         {"rescale_factor", 0.00392156862745098},
                         {"size", {{"height", 224}, {"width", 224}}}};

// "": it is taken.
std::string FaultWith(const json& changes, int64_t side = 224) {
  const ScratchDirectory directory;
  json config = kPublished;
  config.update(changes);
  directory.Write("preprocessor_config.json", config.dump());
  const auto checked = CheckPreprocessor(directory.path(), side);
  return checked ? "" : checked.error().message.substr(directory.path().size() + 1);
}

TEST(PreprocessorConfig, ThePublishedOneIsWhatPicturesAreMadeOf) {
  EXPECT_EQ(FaultWith(json::object()), "");
  EXPECT_EQ(FaultWith({{"size", 224}}), "");
  EXPECT_EQ(FaultWith({{"image_mean", nullptr}}), "");
  const std::string tiny = checkout::File("deploy/models/tiny-blip2");
  EXPECT_TRUE(CheckPreprocessor(tiny, 28).ok());
  EXPECT_FALSE(CheckPreprocessor(tiny, 224).ok());
}

TEST(PreprocessorConfig, AFolderMayHaveNone) {
  EXPECT_TRUE(CheckPreprocessor(ScratchDirectory().path(), 224).ok());
}

TEST(PreprocessorConfig, WhatAsksForOtherPicturesIsRefusedByItsKey) {
  const std::pair<const char*, json> wrong[] = {{"do_normalize", false},
                                                {"do_center_crop", true},
                                                {"resample", 2},
                                                {"rescale_factor", 1},
                                                {"image_mean", {0.5, 0.5, 0.5}},
                                                {"image_std", {1, 1, 1}},
                                                {"size", 384},
                                                {"size", "large"}};
  for (const auto& [key, value] : wrong) {
    EXPECT_THAT(FaultWith({{key, value}}),
                HasSubstr("preprocessor_config.json: " + std::string(key) + ": "));
  }
  EXPECT_THAT(FaultWith({{"size", {{"height", 224}, {"width", 256}}}}),
              HasSubstr("size.width: 256: expected 224, config.json's image_size"));
  EXPECT_THAT(FaultWith({{"size", {{"shortest_edge", 224}}}}), HasSubstr("size.height"));
  EXPECT_THAT(FaultWith({{"size", nullptr}}), HasSubstr("size"));  // transformers' default is 384
  EXPECT_EQ(FaultWith({{"size", nullptr}}, 384), "");
}

TEST(PreprocessorConfig, TheProcessorsOwnFileMayHoldIt) {
  const ScratchDirectory directory;
  directory.Write("processor_config.json", R"({"num_query_tokens": 32})");
  EXPECT_TRUE(CheckPreprocessor(directory.path(), 224).ok());
  json config = kPublished;
  config["resample"] = 0;
  directory.Write("processor_config.json", json({{"image_processor", config}}).dump());
  EXPECT_THAT(CheckPreprocessor(directory.path(), 224).error().message,
              HasSubstr("processor_config.json: image_processor.resample"));
  directory.Write("processor_config.json", "[");
  EXPECT_EQ(CheckPreprocessor(directory.path(), 224).error().code, base::Code::kInvalid);
}

}  // namespace
}  // namespace trainctl::files
