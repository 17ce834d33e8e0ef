#include "worker/rank/files/result_draft.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "common/job/output_folder.h"
#include "common/rank/run_names.h"
#include "tests/files/scratch_directory.h"
#include "worker/rank/files/output_owner.h"

namespace trainctl::files {
namespace {

namespace fs = std::filesystem;

class ResultDraftTest : public ::testing::Test {
 protected:
  ResultDraftTest() {
    plan_.job.output = {.dir = out_, .save = job::Save::kFinal};
    EXPECT_TRUE(TakeOutput(plan_).ok());
  }
  void Write(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << text;
  }
  std::string Owned(const std::string& name) const { return job::OwnerFolder(out_) + "/" + name; }

  const ScratchDirectory scratch_;
  const std::string out_ = scratch_.path() + "/out";
  job::RankPlan plan_{.site = "site", .job_id = "j12", .attempt = 2};
};

TEST_F(ResultDraftTest, NothingIsInTheFolderBeforeAllIsWhole) {
  {
    const ResultDraft draft(plan_);
    Write(draft.folder() + "/config.json", "{}");
    Write(draft.folder() + "/model.safetensors.writing", "12");
    EXPECT_EQ(job::ReadOutputFolder(out_)->contents, "");
  }
  EXPECT_EQ(job::ReadOutputFolder(out_)->contents, "");
  EXPECT_FALSE(fs::exists(Owned(job::UnfinishedResult("site", "j12", 2))));
}

TEST_F(ResultDraftTest, WhatIsPublishedIsKnownByTheRecordBesideTheOwnerFile) {
  Write(out_ + "/config.json", "older");
  const ResultDraft draft(plan_);
  Write(draft.folder() + "/config.json", "{}");
  Write(draft.folder() + "/model.safetensors", "123");
  const auto published = draft.Publish();
  ASSERT_TRUE(published.ok()) << published.error().message;
  EXPECT_EQ(published->files, base::RecordSaved(out_)->files);
  EXPECT_EQ(base::ToText(*published), base::ToText(*base::RecordSaved(out_)));
  std::ifstream record(Owned(job::ResultRecord("site", "j12", 2)));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(record), {}), base::ToText(*published));
}

TEST_F(ResultDraftTest, FilesInFoldersGetTheirPlacesToo) {
  const std::string name = "/additional_chat_templates/tool_use.jinja";
  const ResultDraft draft(plan_);
  Write(draft.folder() + name, "{{ tools }}");
  const auto published = draft.Publish();
  ASSERT_TRUE(published.ok()) << published.error().message;
  EXPECT_TRUE(fs::exists(out_ + name));
  EXPECT_EQ(published->files, base::RecordSaved(out_)->files);
}

TEST_F(ResultDraftTest, NothingIsPublishedIntoAFolderThatIsAnothersNow) {
  const ResultDraft draft(plan_);
  Write(draft.folder() + "/config.json", "{}");
  Write(job::OwnerPath(out_, 2), job::ToJson({"site", "j13", "other"}));
  EXPECT_EQ(draft.Publish().error().code, base::Code::kConflict);
  EXPECT_FALSE(fs::exists(out_ + "/config.json"));
}

TEST_F(ResultDraftTest, WhatAnEarlierAttemptLeftUnfinishedGoes) {
  Write(Owned(job::UnfinishedResult("site", "j12", 1)) + "/model.safetensors", "123");
  const ResultDraft draft(plan_);
  EXPECT_FALSE(fs::exists(Owned(job::UnfinishedResult("site", "j12", 1))));
  EXPECT_TRUE(fs::exists(job::OwnerPath(out_, 1)));
}

}  // namespace
}  // namespace trainctl::files
