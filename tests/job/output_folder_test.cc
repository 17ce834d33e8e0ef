#include "common/job/output_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "common/job/check_job.h"
#include "common/job/job_json.h"
#include "tests/job/valid_job.h"

namespace trainctl::job {
namespace {

namespace fs = std::filesystem;

const FolderOwner kOwner{"site", "j3", "tiny"};

JobSpec Writer() {
  JobSpec job = SmallestJob();
  job.output = {.dir = "/out", .save = Save::kFinal};
  return job;
}

const Claimant kNew{"site", "", {"j3"}};              // the folder's owner has ended
const Claimant kAtItsSide{"site", "", {"j1", "j2"}};  // it has not

bool MayWrite(const JobSpec& job, const OutputFolder& folder, const Claimant& claimant = kNew) {
  return !CheckOutputFolder(job, folder, claimant);
}

std::string Refusal(const JobSpec& job, const OutputFolder& folder, const Claimant& claimant) {
  const auto problem = CheckOutputFolder(job, folder, claimant);
  return problem ? Format({*problem}, "tiny") : "";
}

TEST(CheckOutputFolder, AnEmptyFolderIsForEverybody) { EXPECT_TRUE(MayWrite(Writer(), {})); }

TEST(CheckOutputFolder, AFolderOfAnotherJobsModelIsRefusedAndSaysWhatToDo) {
  EXPECT_EQ(
      Refusal(Writer(), {kOwner, 1, "config.json"}, kNew),
      "tiny: output.dir: \"/out\": expected a folder that no other job owns; it belongs to j3 "
      "(tiny): name another folder, as with --output.dir DIR; where it has a checkpoint and steps "
      "left, trainctl resume j3 goes on there");
}

TEST(CheckOutputFolder, AJobHasItsOwnFolderAgain) {
  EXPECT_TRUE(MayWrite(Writer(), {kOwner, 1, "checkpoints"}, {"site", "j3", {}}));
}

TEST(CheckOutputFolder, AResumedJobTakesTheFolderOfTheJobItGoesOnFromOnly) {
  JobSpec job = Writer();
  job.checkpoint.resume_from = "/out/checkpoints";
  EXPECT_FALSE(MayWrite(job, {kOwner, 1, "checkpoints"}));
  job.checkpoint.resume_job = "j2";
  EXPECT_FALSE(MayWrite(job, {kOwner, 1, "checkpoints"}));
  job.checkpoint.resume_job = "j3";
  EXPECT_TRUE(MayWrite(job, {kOwner, 1, "checkpoints"}));
  EXPECT_FALSE(MayWrite(job, {kOwner, 1, "checkpoints"}, kAtItsSide));
}

TEST(CheckOutputFolder, AnEqualIdOfAnotherCoordinatorIsAnotherJob) {
  const OutputFolder other{FolderOwner{"elsewhere", "j3", "tiny"}, 1, "checkpoints"};
  EXPECT_FALSE(MayWrite(Writer(), other, {"site", "j3", {"j3"}}));
  EXPECT_FALSE(MayWrite(Writer(), {FolderOwner{"elsewhere", "j3", "tiny"}, 1, ""}));
}

TEST(CheckOutputFolder, WhatAnEndedJobHasNotWrittenToIsFree) {
  EXPECT_TRUE(MayWrite(Writer(), {kOwner, 1, ""}));
}

TEST(CheckOutputFolder, WhatALiveJobHasNotWrittenToYetIsItsOwn) {
  EXPECT_EQ(
      Refusal(Writer(), {kOwner, 1, ""}, kAtItsSide),
      "tiny: output.dir: \"/out\": expected a folder that no other job owns; it belongs to j3 "
      "(tiny), which is not known to have ended: name another folder, as with --output.dir "
      "DIR");
}

TEST(CheckOutputFolder, AModelThatNoJobHasWrittenIsNotOverwritten) {
  EXPECT_FALSE(MayWrite(Writer(), {std::nullopt, 0, "model.safetensors"}));
}

OutputFolder Overlapping(const std::string& path, const std::string& contents) {
  return {.overlaps = {{path, kOwner, contents}}};
}

TEST(CheckOutputFolder, AFolderWithinAnEndedJobsOneOrAroundItIsRefused) {
  EXPECT_EQ(
      Refusal(Writer(), Overlapping("/", "checkpoints"), kNew),
      "tiny: output.dir: \"/out\": expected a folder that no other job owns; it lies within / "
      "of j3 (tiny): name another folder, as with --output.dir DIR");
  EXPECT_EQ(Refusal(Writer(), Overlapping("/out/a", "config.json"), kNew),
            "tiny: output.dir: \"/out\": expected a folder that no other job owns; within it lies "
            "/out/a of j3 (tiny): name another folder, as with --output.dir DIR");
}

TEST(CheckOutputFolder, OneThatAnEndedJobHasNotWrittenToOverlapsNothing) {
  EXPECT_TRUE(MayWrite(Writer(), Overlapping("/out/a", "")));
  EXPECT_FALSE(MayWrite(Writer(), Overlapping("/out/a", ""), kAtItsSide));
}

TEST(CheckOutputFolder, WhoHasTheFolderOrGoesOnInItMindsNoOther) {
  OutputFolder held = Overlapping("/out/a", "config.json");
  held.owner = FolderOwner{"site", "j4", "mine"};
  held.contents = "checkpoints";
  EXPECT_TRUE(MayWrite(Writer(), held, {"site", "j4", {"j3"}}));
  JobSpec next = Writer();
  next.checkpoint.resume_job = "j4";
  EXPECT_TRUE(MayWrite(next, held, {"site", "", {"j3", "j4"}}));
}

class OutputFolderTest : public ::testing::Test {
 protected:
  OutputFolderTest()
      : folder_(fs::temp_directory_path() / ("output_folder." + std::to_string(getpid()))) {
    fs::create_directories(OwnerFolder(folder_));
  }
  ~OutputFolderTest() override { fs::remove_all(folder_); }
  void Claim(int64_t claim, const FolderOwner& owner) {
    std::ofstream(OwnerPath(folder_, claim)) << ToJson(owner);
  }
  const std::string folder_;
};

TEST_F(OutputFolderTest, TheLastClaimIsTheOwner) {
  Claim(9, {"site", "j9", "old"});
  Claim(10, {"site", "j10", "new"});
  std::ofstream(OwnerFolder(folder_) + "/site.j11.1.draft") << "half";
  const auto folder = ReadOutputFolder(folder_);
  ASSERT_TRUE(folder.ok()) << folder.error().message;
  EXPECT_EQ(folder->owner->job, "j10");
  EXPECT_EQ(folder->claims, 10);
  EXPECT_EQ(folder->contents, "");
}

TEST_F(OutputFolderTest, FoldersAroundItAndWithinItAreFound) {
  Claim(1, {"site", "j3", "outer"});
  std::ofstream(folder_ + "/config.json") << "{}";
  const std::string middle = folder_ + "/lab/middle", inner = middle + "/a/inner";
  fs::create_directories(OwnerFolder(inner));
  std::ofstream(OwnerPath(inner, 1)) << ToJson(FolderOwner{"site", "j4", "inner"});
  fs::create_directories(inner + "/checkpoints");
  const auto found = ReadWithOverlaps(middle + "/").value();
  EXPECT_FALSE(found.owner);
  ASSERT_EQ(found.overlaps.size(), 2u);
  EXPECT_EQ(found.overlaps[0].path, folder_);
  EXPECT_EQ(found.overlaps[0].owner.job, "j3");
  EXPECT_EQ(found.overlaps[0].contents, "config.json");
  EXPECT_EQ(found.overlaps[1].path, inner);
  EXPECT_EQ(found.overlaps[1].owner.job, "j4");
  EXPECT_EQ(found.overlaps[1].contents, "");
  EXPECT_TRUE(ReadWithOverlaps(folder_ + "/elsewhere/deep")->overlaps.size() == 1)
      << "of a folder that is not there: what is around it";
}

TEST_F(OutputFolderTest, OnlyWhatRunsWriteIsContents) {
  std::ofstream(folder_ + "/notes.txt") << "mine";
  fs::create_directories(folder_ + "/checkpoints");
  EXPECT_EQ(ReadOutputFolder(folder_)->contents, "");
  fs::create_directories(folder_ + "/checkpoints/step-2");
  EXPECT_EQ(ReadOutputFolder(folder_)->contents, "checkpoints");
  fs::remove_all(folder_ + "/checkpoints");
  std::ofstream(folder_ + "/tokenizer.json") << "mine, too";  // a run would write its own there
  EXPECT_EQ(ReadOutputFolder(folder_)->contents, "tokenizer.json");
}

TEST_F(OutputFolderTest, AFolderThatIsNotThereIsEmptyAndADamagedOwnerIsAFault) {
  EXPECT_TRUE(ReadOutputFolder(folder_ + "/missing").ok());
  std::ofstream(OwnerPath(folder_, 1)) << "{\"site\"";
  EXPECT_FALSE(ReadOutputFolder(folder_).ok());
}

// Nobody waits for a writer that never comes.
TEST_F(OutputFolderTest, AnOwnerFileThatIsAPipeIsAFault) {
  ASSERT_EQ(mkfifo(OwnerPath(folder_, 1).c_str(), 0600), 0);
  const auto read = ReadOutputFolder(folder_);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, base::Code::kInvalid);
}

TEST(LabFile, EachExperimentWritesUnderItsOwnNameUnlessItNamesAFolder) {
  const std::string text = R"({
    "base": {"version": 1, "model": {"path": "m"}, "data": {"path": "d"},
             "train": {"micro_batch_size": 1}, "output": {"dir": "out", "save": "final"}},
    "experiments": [{"name": "a"}, {"name": "b", "set": {"output.dir": "elsewhere"}}]})";
  const ReadJob read = ReadJobFile(text, {.base_directory = "/home"});
  ASSERT_TRUE(read.lab) << Format(read.problems, "lab.json");
  EXPECT_EQ(read.lab->experiments[0].output.dir, "/home/out/a");
  EXPECT_EQ(read.lab->experiments[1].output.dir, "/home/elsewhere");
  const ReadJob typed =
      ReadJobFile(text, {.base_directory = "/home", .overrides = {{"output.dir", "/typed"}}});
  EXPECT_EQ(typed.lab->experiments[0].output.dir, "/typed/a");
  EXPECT_EQ(typed.lab->experiments[1].output.dir, "/typed/b");
}

}  // namespace
}  // namespace trainctl::job
