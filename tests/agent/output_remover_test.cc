#include "worker/agent/output_remover.h"

#include <gmock/gmock.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "common/base/file.h"
#include "common/base/saved_folder.h"
#include "common/base/site_folder.h"
#include "common/job/output_folder.h"
#include "common/rank/run_names.h"
#include "tests/shim/temp_folder.h"

namespace trainctl::agent {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Root may remove anything: the folder becomes another user's, who this thread is meanwhile.
class WithoutRoot {
 public:
  explicit WithoutRoot(const std::string& folder) {
    if (::geteuid() != 0) return;
    EXPECT_EQ(::chown(folder.c_str(), kNobody, kNobody), 0);
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
      EXPECT_EQ(::lchown(entry.path().c_str(), kNobody, kNobody), 0);
    ::setfsuid(kNobody);
  }
  ~WithoutRoot() { ::setfsuid(::geteuid()); }
  WithoutRoot(const WithoutRoot&) = delete;
  WithoutRoot& operator=(const WithoutRoot&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
};

class OutputRemoverTest : public testing::Test {
 protected:
  // A model in parts of folders, two checkpoints, and a trace: all that a job saves.
  OutputRemoverTest() {
    question_ = {.path = out_, .site = "site", .job = "j12"};
    Own(1, "site", "j12");
    Write("config.json", "{}");
    Write("parts/weights", "0123456789");
    Save("");
    Write("checkpoints/step-4/manifest.json", "{}");
    Save("/checkpoints/step-4");
    Write("checkpoints/step-8/manifest.json", "{}");
    Save("/checkpoints/step-8");
    Write("profile/rank-0.json", "[]");
    Save("/profile/rank-0.json");
  }

  void Write(const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(out_ + "/" + name).parent_path());
    ASSERT_TRUE(base::WriteFileAtomically(out_ + "/" + name, text));
  }
  void Own(int64_t claim, const std::string& site, const std::string& job) {
    fs::create_directories(job::OwnerFolder(out_));
    std::ofstream(job::OwnerPath(out_, claim)) << job::ToJson({site, job, "name of " + job});
  }
  // As the job's rank records it, but for the others.
  void Save(const std::string& place, const std::string& others = "") {
    auto record = base::RecordSaved(out_ + place);
    ASSERT_TRUE(record) << record.error().message;
    std::erase_if(record->files, [&](const base::SavedFile& file) { return file.path == others; });
    question_.saved.push_back({out_ + place, base::ToText(*record)});
  }

  job::RemovalAnswer Remove() {
    const auto answer = RemoveOutputs(question_, rules_);
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? *answer : job::RemovalAnswer();
  }
  base::Error Refusal() {
    const auto answer = RemoveOutputs(question_, rules_);
    EXPECT_FALSE(answer);
    return answer ? base::Error{} : answer.error();
  }
  static std::vector<std::string> Texts(const job::RemovalAnswer& answer) {
    std::vector<std::string> texts;
    for (const job::LeftPath& left : answer.left) texts.push_back(left.path + ": " + left.why);
    return texts;
  }
  // Of all that lies in the folder, but the folders.
  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    std::error_code error;
    for (fs::recursive_directory_iterator at(out_, error), end; !error && at != end; ++at) {
      if (!at->is_directory()) files.push_back(at->path().lexically_relative(out_).string());
    }
    std::ranges::sort(files);
    return files;
  }

  tests::TempFolder folder_;
  const std::string out_ = folder_.path() + "/out";
  job::RemovalQuestion question_;
  job::HostRules rules_;
};

TEST_F(OutputRemoverTest, AllThatTheJobHasSavedGoesWithItsFolders) {
  const job::RemovalAnswer removed = Remove();
  EXPECT_EQ(removed.files, 5);
  EXPECT_EQ(removed.bytes, 2 + 10 + 2 + 2 + 2);
  EXPECT_THAT(Texts(removed), IsEmpty());
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(OutputRemoverTest, AHostThatSharesTheFolderFindsItGone) {
  Remove();
  const job::RemovalAnswer again = Remove();
  EXPECT_EQ(again.files, 0);
  EXPECT_THAT(Texts(again), IsEmpty());
}

TEST_F(OutputRemoverTest, NothingGoesOfAFolderOfTheSiteItself) {
  std::ofstream(folder_.path() + "/" + base::kWorkerLock);
  const std::vector<std::string> before = Files();
  EXPECT_EQ(Refusal().code, base::Code::kDenied);
  EXPECT_THAT(Refusal().message, HasSubstr("a worker's own folder"));
  EXPECT_EQ(Files(), before);
}

TEST_F(OutputRemoverTest, AFolderBesideTheSitesOwnGoes) {
  fs::create_directory(folder_.path() + "/worker-0");
  std::ofstream(folder_.path() + "/worker-0/" + base::kWorkerLock);
  Remove();
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(OutputRemoverTest, ALookTellsWhatWouldGoAndRemovesNothing) {
  const std::vector<std::string> before = Files();
  question_.look_only = true;
  EXPECT_EQ(Remove().files, 5);
  EXPECT_EQ(Remove().bytes, 18);
  EXPECT_EQ(Files(), before);
}

TEST_F(OutputRemoverTest, FilesOfTheUserStayAndAreNamed) {
  Write("notes.txt", "mine");
  Write("parts/mine", "mine");
  const job::RemovalAnswer removed = Remove();
  EXPECT_EQ(removed.files, 5);
  EXPECT_THAT(Texts(removed), ElementsAre(out_ + ": stays, with notes.txt, parts/mine"));
  EXPECT_THAT(Files(), ElementsAre("notes.txt", "parts/mine"));
}

TEST_F(OutputRemoverTest, WhatTheJobDidNotWriteStays) {
  question_.saved.clear();
  Write("old.safetensors", "old");
  Write("new.safetensors", "new");
  Save("", "old.safetensors");
  Remove();
  EXPECT_FALSE(fs::exists(out_ + "/new.safetensors"));
  EXPECT_TRUE(fs::exists(out_ + "/old.safetensors"));
}

TEST_F(OutputRemoverTest, AFileThatWasChangedSinceStaysAndIsNamed) {
  std::ofstream(out_ + "/config.json", std::ios::app) << "\n";
  Write("checkpoints/step-8/manifest.json", "of somebody else");
  const job::RemovalAnswer removed = Remove();
  EXPECT_EQ(removed.files, 3);
  EXPECT_THAT(
      Texts(removed),
      ElementsAre(out_ + "/checkpoints/step-8/manifest.json: was changed since it was saved",
                  out_ + "/config.json: was changed since it was saved",
                  out_ + ": stays, with checkpoints/step-8/manifest.json, config.json"));
}

TEST_F(OutputRemoverTest, AFileOfTheSameSizeThatWasWrittenToLaterStays) {
  const std::string path = out_ + "/parts/weights";
  const auto saved_at = fs::last_write_time(path);
  std::fstream(path, std::ios::in | std::ios::out) << "ABCDEFGHIJ";
  fs::last_write_time(path, saved_at + std::chrono::nanoseconds(1'000));
  Remove();
  EXPECT_THAT(Files(), ElementsAre("parts/weights"));
}

TEST_F(OutputRemoverTest, NoLinkLeadsToAnythingElse) {
  const std::string elsewhere = folder_.path() + "/elsewhere";
  fs::create_directories(elsewhere + "/step-4");
  fs::rename(out_ + "/parts", elsewhere + "/parts");
  fs::create_directory_symlink(elsewhere + "/parts", out_ + "/parts");
  fs::rename(out_ + "/checkpoints/step-4/manifest.json", elsewhere + "/step-4/manifest.json");
  fs::remove(out_ + "/checkpoints/step-4");
  fs::create_directory_symlink(elsewhere + "/step-4", out_ + "/checkpoints/step-4");
  fs::remove(out_ + "/config.json");
  std::ofstream(elsewhere + "/config.json") << "{}";
  fs::create_symlink(elsewhere + "/config.json", out_ + "/config.json");
  const job::RemovalAnswer removed = Remove();
  EXPECT_EQ(removed.files, 2) << "the other checkpoint, and the trace";
  EXPECT_THAT(Texts(removed),
              ElementsAre(out_ + "/checkpoints/step-4: a link has its place",
                          out_ + "/config.json: was changed since it was saved",
                          out_ + "/parts/weights: lies behind a link",
                          out_ + ": stays, with checkpoints/step-4, config.json, parts"));
  for (const char* file : {"/parts/weights", "/step-4/manifest.json", "/config.json"})
    EXPECT_TRUE(fs::exists(elsewhere + file)) << file;
}

TEST_F(OutputRemoverTest, NoNameOfARecordLeadsOutOfTheFolder) {
  std::ofstream(folder_.path() + "/secret") << "secret";
  struct stat status{};
  ASSERT_EQ(::stat((folder_.path() + "/secret").c_str(), &status), 0);
  for (const std::string& name :
       std::vector<std::string>{"../secret", "parts/../../secret", folder_.path() + "/secret"}) {
    question_.saved[0].record += "saved 6 " + std::to_string(status.st_ino) + " 0 " + name + "\n";
    const auto answer = RemoveOutputs(question_, rules_);
    EXPECT_FALSE(answer) << name;
    EXPECT_TRUE(fs::exists(folder_.path() + "/secret")) << name;
  }
}

TEST_F(OutputRemoverTest, APlaceOutsideOfTheFolderIsLeft) {
  fs::create_directories(folder_.path() + "/outside");
  std::ofstream(folder_.path() + "/outside/file") << "1";
  Save("/../outside");
  EXPECT_THAT(Texts(Remove()),
              ElementsAre(out_ + "/../outside: lies outside of the job's output.dir"));
  EXPECT_TRUE(fs::exists(folder_.path() + "/outside/file"));
}

TEST_F(OutputRemoverTest, AFolderThatTookThePlaceOfTheSavedOneStays) {
  fs::rename(out_, folder_.path() + "/away");
  Write("config.json", "{}");
  Write("checkpoints/step-4/manifest.json", "{}");
  const job::RemovalAnswer removed = Remove();
  EXPECT_EQ(removed.files, 0);
  EXPECT_THAT(Files(), ElementsAre("checkpoints/step-4/manifest.json", "config.json"));
  EXPECT_THAT(Texts(removed).at(0), HasSubstr("something else has its place"));
}

TEST_F(OutputRemoverTest, ACheckpointThatWasWrittenAgainGoesByItsLastRecord) {
  fs::remove_all(out_ + "/checkpoints/step-4");
  Write("checkpoints/step-4/manifest.json", "{\"again\": 1}");
  Save("/checkpoints/step-4");
  EXPECT_THAT(Texts(Remove()), IsEmpty());
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(OutputRemoverTest, NothingGoesFromAFolderThatAnotherJobOwns) {
  const std::vector<std::string> before = Files();
  Own(2, "site", "j13");
  const base::Error of_another = Refusal();
  EXPECT_EQ(of_another.code, base::Code::kConflict);
  EXPECT_EQ(of_another.message, out_ + " belongs to j13 (name of j13)");
  Own(3, "elsewhere", "j12");
  EXPECT_EQ(Refusal().message, out_ + " belongs to j12 (name of j12) of another coordinator");
  fs::remove(job::OwnerPath(out_, 2));
  fs::remove(job::OwnerPath(out_, 3));
  EXPECT_EQ(Files(), before);
}

TEST_F(OutputRemoverTest, TheOwnerOfBeforeIsItAgain) {
  fs::rename(job::OwnerPath(out_, 1), job::OwnerPath(out_, 2));
  Own(1, "site", "j3");
  EXPECT_EQ(Remove().files, 5);
  EXPECT_THAT(Files(), ElementsAre(".trainctl/owner-1.json"));
  EXPECT_EQ(job::ReadOutputFolder(out_)->owner->job, "j3");
}

TEST_F(OutputRemoverTest, CurvesAndUnfinishedCheckpointsGoByTheJobsName) {
  Write("tensorboard/" + job::CurvesFile(7, "j12", 1), "curves");
  Write("tensorboard/" + job::CurvesFile(7, "j1", 12), "of another job");
  Write("checkpoints/" + job::UnfinishedCheckpoint(12, "j12.2") + "/sub/part", "12345");
  Write("checkpoints/" + job::UnfinishedCheckpoint(12, "j12.2") + ".removing/part", "123");
  Write("checkpoints/" + job::UnfinishedCheckpoint(12, "j120.2") + "/part", "of another job");
  const job::RemovalAnswer removed = Remove();
  EXPECT_EQ(removed.files, 5 + 3);
  EXPECT_THAT(Files(),
              ElementsAre(".trainctl/owner-1.json", "checkpoints/step-12.j120.2.writing/part",
                          "tensorboard/events.out.tfevents.7.j1-12"));
}

TEST_F(OutputRemoverTest, WhatAKilledRankLeftUnfinishedGoes) {
  Write("checkpoints/step-2.removing/rank-0-of-1.safetensors", "12");
  fs::create_directories(out_ + "/checkpoints/step-3.removing");
  Write("checkpoints/" + job::SharedFolderMark("j12.1"), "host");
  Write("checkpoints/" + job::SharedFolderMark("j12.1") + ".77.0.tmp", "host");
  Write("profile/" + job::Draft(job::TraceFile(1)), "[");
  Write("profile/" + job::Draft(job::Draft(job::TraceFile(1))), "[");
  Write(".trainctl/" + job::OwnerDraft("site", "j12", 2), "{");
  Write(".trainctl/" + job::UnfinishedResult("site", "j12", 2) + "/model.safetensors", "123");
  const job::RemovalAnswer removed = Remove();
  EXPECT_EQ(removed.files, 5 + 6);
  EXPECT_THAT(Texts(removed), IsEmpty());
  EXPECT_FALSE(fs::exists(out_));
}

// It was killed while its result got its place: nobody was told of it.
TEST_F(OutputRemoverTest, AResultThatNobodyHeardOfGoesByItsRecordThere) {
  question_.saved.clear();
  Write("model.safetensors", "123");
  Write(".trainctl/" + job::ResultRecord("site", "j12", 1), base::ToText(*base::RecordSaved(out_)));
  Write("tokenizer.json", "of a person, put there later");
  EXPECT_EQ(Remove().files, 3);
  EXPECT_THAT(Files(), ElementsAre(".trainctl/owner-1.json", "checkpoints/step-4/manifest.json",
                                   "checkpoints/step-8/manifest.json", "profile/rank-0.json",
                                   "tokenizer.json"));
}

TEST_F(OutputRemoverTest, ADamagedRecordThereIsNamedAndNothingGoesByIt) {
  Write(".trainctl/" + job::ResultRecord("site", "j12", 1), "no record");
  Write("tokenizer.json", "{}");
  const job::RemovalAnswer removed = Remove();
  EXPECT_EQ(removed.files, 5);
  EXPECT_THAT(Texts(removed).at(0), HasSubstr("no record of a saved folder"));
  EXPECT_TRUE(fs::exists(out_ + "/tokenizer.json"));
}

TEST_F(OutputRemoverTest, ACheckpointGoesThoughItGotAnotherNameSince) {
  fs::rename(out_ + "/checkpoints/step-4", out_ + "/checkpoints/step-4.damaged");
  fs::rename(out_ + "/checkpoints/step-8", out_ + "/checkpoints/step-8.removing");
  Write("checkpoints/step-12.damaged/manifest.json", "of nobody");
  const job::RemovalAnswer removed = Remove();
  EXPECT_EQ(removed.files, 5);
  EXPECT_THAT(Texts(removed),
              ElementsAre(out_ + ": stays, with checkpoints/step-12.damaged/manifest.json"));
}

TEST_F(OutputRemoverTest, TheOwnerStaysWhileThereIsWhatRunsWrite) {
  Write("tokenizer.json", "of a person");
  Remove();
  EXPECT_EQ(job::ReadOutputFolder(out_)->owner->job, "j12");
  EXPECT_THAT(Files(), ElementsAre(".trainctl/owner-1.json", "tokenizer.json"));
  fs::remove(out_ + "/tokenizer.json");
  Write("notes.txt", "of a person");
  Remove();
  EXPECT_THAT(Files(), ElementsAre("notes.txt"));
}

TEST_F(OutputRemoverTest, OfManyPathsThatStayTheFirstAreNamed) {
  for (const char* name : {"a", "b", "c/d", "e", "f", "g"}) Write(name, "of a person");
  EXPECT_THAT(Texts(Remove()), ElementsAre(out_ + ": stays, with a, b, c/d, e, f and more"));
}

TEST_F(OutputRemoverTest, WithoutAnOwnerOnlyWhatWasRecordedGoes) {
  fs::remove_all(job::OwnerFolder(out_));
  Write("tensorboard/" + job::CurvesFile(7, "j12", 1), "perhaps of another site's j12");
  EXPECT_EQ(Remove().files, 5);
  EXPECT_EQ(Files().size(), 1u);
}

TEST_F(OutputRemoverTest, WithoutARecordNothingGoes) {
  question_.saved = {{out_, ""}};
  EXPECT_THAT(Texts(Remove()).at(0), HasSubstr("nobody recorded"));
  EXPECT_TRUE(fs::exists(out_ + "/config.json"));
  question_.saved = {{out_, "no record"}};
  EXPECT_EQ(Refusal().code, base::Code::kInvalid);
}

TEST_F(OutputRemoverTest, WhatRulesOfTheHostForbidIsRefused) {
  rules_.roots.write = {folder_.path() + "/elsewhere"};
  fs::create_directories(folder_.path() + "/elsewhere");
  EXPECT_EQ(Refusal().code, base::Code::kDenied);
  rules_ = {.owners = {"bob"}};
  question_.owner = "anna";
  EXPECT_EQ(Refusal().code, base::Code::kInvalid);
  EXPECT_TRUE(fs::exists(out_ + "/config.json"));
}

TEST_F(OutputRemoverTest, ARootOfTheHostStaysThoughItIsEmpty) {
  rules_.roots.write = {out_};
  EXPECT_EQ(Remove().files, 5);
  EXPECT_TRUE(fs::is_empty(out_));
}

TEST_F(OutputRemoverTest, WhatCannotBeRemovedIsAnErrorAndTheSameAgainRemovesTheRest) {
  const WithoutRoot without_root(folder_.path());
  fs::permissions(out_ + "/parts", fs::perms(0500));
  EXPECT_THAT(Refusal().message, HasSubstr("cannot remove '" + out_ + "/parts/weights'"));
  fs::permissions(out_ + "/parts", fs::perms(0700));
  Remove();
  EXPECT_FALSE(fs::exists(out_));
}

}  // namespace
}  // namespace trainctl::agent
