#include "common/job/hub_id.h"

#include <gtest/gtest.h>

#include "common/job/job_json.h"

namespace trainctl::job {
namespace {

TEST(HubId, IsAnOwnerAndAName) {
  for (const char* id : {"Qwen/Qwen3-0.6B", "a/b", "meta-llama/Llama-3.2-1B", "01-ai/Yi_6B"})
    EXPECT_TRUE(IsHubId(id)) << id;
  for (const char* path : {"", "tiny", "/a/b", "a/b/c", "./a", "../models/tiny", "a/", "a/.b",
                           "a b/c", "~/models", "a/b--c"})
    EXPECT_FALSE(IsHubId(path)) << path;
}

TEST(HubId, AndTheCachesFolderSayTheSame) {
  EXPECT_EQ(HubFolder("Qwen/Qwen3-0.6B"), "models--Qwen--Qwen3-0.6B");
  const auto snapshot = SnapshotOf("/c/hub/models--Qwen--Qwen3-0.6B/snapshots/abc/");
  ASSERT_TRUE(snapshot);
  EXPECT_EQ(snapshot->id, "Qwen/Qwen3-0.6B");
  EXPECT_EQ(snapshot->revision, "abc");
  for (const char* path : {"/models/tiny", "/c/models--a--b/snapshots/x/y", "/c/a--b/snapshots/x"})
    EXPECT_FALSE(SnapshotOf(path)) << path;
}

std::string ModelPath(const std::string& written, bool is_there, std::vector<Override> more = {}) {
  const std::string text = R"({"version": 1, "model": {"path": ")" + written +
                           R"("}, "data": {"path": "d"}, "train": {"micro_batch_size": 1}})";
  const ReadJob read = ReadJobFile(text, {.base_directory = "/jobs",
                                          .is_there = [&](const std::string&) { return is_there; },
                                          .overrides = std::move(more)});
  return read.job ? read.job->model.path : Format(read.problems, "job");
}

TEST(ReadJobFile, AModelThatIsNoFolderMayBeAHubId) {
  EXPECT_EQ(ModelPath("Qwen/Qwen3-0.6B", false), "Qwen/Qwen3-0.6B");
  EXPECT_EQ(ModelPath("models/tiny", true), "/jobs/models/tiny");
  EXPECT_EQ(ModelPath("../models/tiny", false), "/models/tiny");
  EXPECT_EQ(ModelPath("/models/tiny", false), "/models/tiny");
  EXPECT_EQ(ModelPath("tiny", false), "/jobs/tiny");
}

}  // namespace
}  // namespace trainctl::job
