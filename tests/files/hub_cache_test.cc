#include "worker/rank/files/hub_cache.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tests/files/scratch_directory.h"

namespace trainctl::files {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

constexpr char kId[] = "Qwen/Qwen3-0.6B";

// A cache as huggingface_hub lays it out.
class HubCacheTest : public testing::Test {
 protected:
  HubCacheTest() : model_(scratch_.path() + "/models--Qwen--Qwen3-0.6B") {
    for (const char* folder : {"/refs", "/blobs", "/snapshots/abc", "/snapshots/old"})
      fs::create_directories(model_ + folder);
    Write("/refs/main", "abc");
    Write("/blobs/1f", "{}");
    fs::create_symlink("../../blobs/1f", model_ + "/snapshots/abc/config.json");
    fs::create_symlink("../../blobs/1f", model_ + "/snapshots/old/config.json");
  }

  void Write(const std::string& name, const std::string& text) {
    std::ofstream(model_ + name) << text;
  }
  std::string Found(const std::string& path, const std::string& revision = "") {
    const auto found = FindModel(path, scratch_.path(), revision);
    return found ? found->folder + " " + found->revision : found.error().message;
  }

  ScratchDirectory scratch_;
  const std::string model_;
};

TEST_F(HubCacheTest, AnIdIsItsNewestSnapshotOrTheOneThatIsAskedFor) {
  EXPECT_EQ(Found(kId), model_ + "/snapshots/abc abc");
  EXPECT_EQ(Found(kId, "old"), model_ + "/snapshots/old old");
  Write("/refs/main", "old\n");
  EXPECT_EQ(Found(kId), model_ + "/snapshots/old old");
}

TEST_F(HubCacheTest, AFolderIsItself) {
  EXPECT_EQ(Found("/models/tiny"), "/models/tiny ");
  EXPECT_EQ(FindModel("/models/tiny", "")->folder, "/models/tiny");
}

TEST_F(HubCacheTest, AFileIsNoFolderOfAModel) {
  const std::string file = scratch_.Write("model.safetensors", "x");
  EXPECT_EQ(Found(file), file + " is a file, expected the folder of a model");
}

TEST_F(HubCacheTest, AFolderOfPeftIsItsBaseModelWithAnAdapter) {
  const std::string folder = scratch_.path() + "/adapter";
  fs::create_directories(folder);
  const auto write = [&](const std::string& base) {
    std::ofstream(folder + "/adapter_config.json")
        << R"({"base_model_name_or_path": ")" << base << R"(", "r": 4, "lora_alpha": 8})";
  };
  write("/models/tiny");
  const auto of_folder = FindModel(folder, "");
  ASSERT_TRUE(of_folder.ok()) << of_folder.error().message;
  EXPECT_EQ(of_folder->folder, "/models/tiny");
  EXPECT_EQ(of_folder->adapter, folder);
  write(kId);
  EXPECT_EQ(Found(folder, "old"), model_ + "/snapshots/old old");
  write("Qwen/Qwen3-8B");
  EXPECT_THAT(Found(folder), HasSubstr(folder + "'s base model: 'Qwen/Qwen3-8B' is neither"));
  std::ofstream(folder + "/config.json") << "{}";
  EXPECT_EQ(FindModel(folder, "")->adapter, "") << "a model with an adapter beside it";
}

TEST_F(HubCacheTest, WhatIsNotThereIsSaidWithTheCommandThatFetchesIt) {
  EXPECT_EQ(Found("Qwen/Qwen3-8B"),
            "'Qwen/Qwen3-8B' is neither a folder beside the job file nor a model in this host's "
            "Hugging Face cache '" +
                scratch_.path() + "'; fetch it on this host: hf download Qwen/Qwen3-8B");
  EXPECT_THAT(Found(kId, "new"),
              HasSubstr("but not its revision new; fetch it on this host: hf download "
                        "Qwen/Qwen3-0.6B --revision new"));
  EXPECT_EQ(FindModel(kId, "").error().code, base::Code::kNotFound);
}

TEST_F(HubCacheTest, AModelThatIsThereInPartIsNot) {
  fs::create_symlink("../../blobs/2f", model_ + "/snapshots/abc/model.safetensors");
  EXPECT_THAT(Found(kId), HasSubstr("only in part: model.safetensors is missing; fetch it"));
  fs::remove(model_ + "/snapshots/abc/model.safetensors");
  fs::remove(model_ + "/snapshots/abc/config.json");
  EXPECT_THAT(Found(kId), HasSubstr("only in part: config.json is missing"));
  fs::remove(model_ + "/refs/main");
  EXPECT_THAT(Found(kId), HasSubstr("without its newest revision"));
}

TEST_F(HubCacheTest, ARefThatLeavesTheCacheIsRefused) {
  Write("/refs/main", "../../elsewhere");
  EXPECT_THAT(Found(kId), HasSubstr("refs/main: expected the name of a revision"));
}

}  // namespace
}  // namespace trainctl::files
