#include <filesystem>

#include "client/exit_code.h"
#include "client/show/output.h"
#include "common/job/job_json.h"
#include "common/job/output_folder.h"
#include "tests/client/client_test.h"
#include "tests/client/scratch_folder.h"

namespace trainctl::client {
namespace {

class ArtifactsTest : public ClientTest {
 protected:
  ArtifactsTest() {
    coordinator_.jobs = {FinishedJob("j1", "tiny", "SUCCEEDED")};
    coordinator_.site = "site-1";
    Own("j1");
  }

  // The folders of this test are those of the job.
  void Own(const std::string& job) {
    folder_.Write(".trainctl/owner-1.json", job::ToJson(job::FolderOwner{"site-1", job, "tiny"}));
  }

  v1::Artifact& Add(const std::string& kind, const std::string& path, int64_t bytes) {
    v1::Artifact& artifact = *coordinator_.details["j1"].add_artifacts();
    artifact.set_kind(kind);
    artifact.set_path(path);
    artifact.set_host("alpha");
    artifact.set_bytes(bytes);
    artifact.set_time(1'000'000);
    return artifact;
  }

  // Get to "got" in the test's folder.
  Ended Get(const std::vector<std::string>& name = {}) {
    std::vector<std::string> words = {"artifacts", "get", "j1"};
    words.insert(words.end(), name.begin(), name.end());
    words.push_back(folder_ / "got");
    return Trainctl(words);
  }

  ScratchFolder folder_;
};

TEST_F(ArtifactsTest, WhatAJobHasSavedIsListed) {
  Add("checkpoint", "/runs/tiny/step-100", 3 << 20);
  Add("final", "/runs/tiny/", 0);
  EXPECT_EQ(
      Trainctl({"artifacts", "ls", "tiny"}).out,
      "JOB  NAME      KIND            SIZE  SAVED                    HOST   PATH\n"
      "j1   step-100  checkpoint  3.00 MiB  1970-01-01 00:00:01 UTC  alpha  /runs/tiny/step-100\n"
      "j1   tiny      final              –  1970-01-01 00:00:01 UTC  alpha  /runs/tiny/\n");
  const Json json = Json::parse(Trainctl({"artifacts", "ls", "j1", "-o", "json"}).out);
  EXPECT_EQ(json["artifacts"][0]["bytes"], 3 << 20);
  EXPECT_EQ(json["artifacts"][1]["bytes"], nullptr);
  EXPECT_EQ(json["artifacts"][1]["time"], 1.0);
}

TEST_F(ArtifactsTest, AJobThatSavedNothingSaysSo) {
  EXPECT_EQ(Trainctl({"artifacts", "ls", "j1"}).out, "nothing is saved\n");
  const Ended ended = Get();
  EXPECT_EQ(ended.code, kExitNotFound);
  EXPECT_NE(ended.err.find("tiny (j1) has saved nothing: a job keeps its"), std::string::npos);
}

TEST_F(ArtifactsTest, AJobThatIsToSaveAndHasNotYetSaysSo) {
  job::JobSpec job{.name = "tiny", .model = {.path = "m"}, .data = {.path = "d"}};
  job.train.micro_batch_size = 1;
  job.output = {.dir = "/runs/tiny", .save = job::Save::kFinal};
  coordinator_.details["j1"].set_job_json(job::ToJson(job));
  EXPECT_NE(Get().err.find("tiny (j1) has saved nothing: it ended SUCCEEDED before"),
            std::string::npos);
  coordinator_.jobs = {RunningJob("j1", "tiny")};
  const Ended ended = Get();
  EXPECT_EQ(ended.code, kExitNotFound);
  EXPECT_NE(ended.err.find("tiny (j1) has saved nothing yet: it is RUNNING; wait for it with: "
                           "trainctl wait j1"),
            std::string::npos)
      << ended.err;
}

TEST_F(ArtifactsTest, AFolderOnThisMachineIsCopied) {
  folder_.Write("out/config.json", "{}");
  folder_.Write("out/sub/weights", "12345");
  Add("final", folder_ / "out", 7);
  const Ended ended = Get();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(folder_.Read("got/config.json"), "{}");
  EXPECT_EQ(folder_.Read("got/sub/weights"), "12345");
}

TEST_F(ArtifactsTest, AModelIsCopiedWithoutTheCheckpointsBesideIt) {
  folder_.Write("out/config.json", "{}");
  folder_.Write("out/checkpoints/step-9/manifest.json", "{}");
  Add("final", folder_ / "out", 2);
  const Ended ended = Get();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(folder_.Read("got/config.json"), "{}");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "got/checkpoints"));
}

TEST_F(ArtifactsTest, AFileOnThisMachineIsCopiedUnderItsName) {
  Add("final", folder_.Write("adapter.safetensors", "1234"), 4);
  EXPECT_EQ(Get().code, 0);
  EXPECT_EQ(folder_.Read("got/adapter.safetensors"), "1234");
}

TEST_F(ArtifactsTest, WhatLiesOnAnotherHostIsReadInPieces) {
  Add("final", "/runs/tiny", 12);
  coordinator_.artifacts["/runs/tiny"] = {{"config.json", "{}"}, {"sub/weights", "0123456789"}};
  const Ended ended = Get();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(folder_.Read("got/sub/weights"), "0123456789");
}

TEST_F(ArtifactsTest, AnotherFolderOfThatNameOnThisMachineIsNotTakenForIt) {
  folder_.Write("out/weights", "not the model");
  Add("final", folder_ / "out", 4);
  coordinator_.artifacts[folder_ / "out"] = {{"weights", "1234"}};
  EXPECT_EQ(Get().code, 0);
  EXPECT_EQ(folder_.Read("got/weights"), "1234");
}

TEST_F(ArtifactsTest, AFolderThatAnotherJobHasByNowIsNotTakenForIt) {
  folder_.Write("out/weights", "b's ");
  Add("final", folder_ / "out", 4);
  coordinator_.artifacts[folder_ / "out"] = {{"weights", "a's "}};
  Own("j2");
  EXPECT_EQ(Get().code, 0);
  EXPECT_EQ(folder_.Read("got/weights"), "a's ");
}

TEST_F(ArtifactsTest, AHostThatCannotBeReachedIsNamedWithTheLineThatCopiesByHand) {
  Add("final", "/runs/tiny", 4);
  const Ended ended = Get();
  EXPECT_EQ(ended.code, kExitUnreachable);
  EXPECT_NE(ended.err.find("scp -r alpha:/runs/tiny " + (folder_ / "got")), std::string::npos)
      << ended.err;
  EXPECT_FALSE(folder_.Has("got"));
  EXPECT_FALSE(folder_.Has("got.partial"));
}

TEST_F(ArtifactsTest, WhatIsGoneNamesWhoTookTheFolderOverAndNoLineThatCannotCopy) {
  Add("final", folder_ / "out", 4);
  coordinator_.artifact_error = {base::Code::kNotFound, "No such file or directory"};
  Own("j10");
  const std::string takeover = folder_.path() + " was taken over by tiny (j10)";
  const Ended ended = Get();
  EXPECT_EQ(ended.code, kExitNotFound);
  EXPECT_NE(ended.err.find(takeover), std::string::npos) << ended.err;
  EXPECT_EQ(ended.err.find("scp"), std::string::npos) << ended.err;
  EXPECT_EQ(Trainctl({"artifacts", "ls", "j1"}).err, "note: " + takeover + "\n");
}

TEST_F(ArtifactsTest, WhatHasChangedSinceItWasSavedIsRefused) {
  Add("final", "/runs/tiny", 5);
  coordinator_.artifacts["/runs/tiny"] = {{"weights", "1234"}};
  const Ended ended = Get();
  EXPECT_EQ(ended.code, kExitFailure);
  EXPECT_NE(ended.err.find("has changed since it was saved: it had 5 bytes, now 4"),
            std::string::npos)
      << ended.err;
}

TEST_F(ArtifactsTest, AWorkerThatNamesAPathOutsideIsNotFollowed) {
  Add("final", "/runs/tiny", 4);
  coordinator_.artifacts["/runs/tiny"] = {{"../escaped", "1234"}};
  EXPECT_EQ(Get().code, kExitFailure);
  EXPECT_FALSE(folder_.Has("escaped"));
}

TEST_F(ArtifactsTest, OneOfSeveralIsChosenByNameOrKind) {
  Add("checkpoint", folder_ / "step-1", 1);
  Add("checkpoint", folder_ / "step-2", 1);
  folder_.Write("step-1/x", "1");
  folder_.Write("step-2/x", "2");
  const Ended unnamed = Get();
  EXPECT_EQ(unnamed.code, kExitUsage);
  EXPECT_NE(unnamed.err.find("name one of step-1, step-2"), std::string::npos) << unnamed.err;
  EXPECT_EQ(Get({"step-3"}).code, kExitNotFound);
  EXPECT_EQ(Get({"step-1"}).code, 0);
  EXPECT_EQ(folder_.Read("got/x"), "1");
  std::filesystem::remove_all(folder_ / "got");
  EXPECT_EQ(Get({"checkpoint"}).code, 0);
  EXPECT_EQ(folder_.Read("got/x"), "2");
}

TEST_F(ArtifactsTest, AFolderThatIsNotEmptyIsLeftAlone) {
  Add("final", folder_ / "out", 1);
  folder_.Write("out/x", "1");
  folder_.Write("got/mine", "mine");
  EXPECT_EQ(Get().code, kExitFailure);
  EXPECT_FALSE(folder_.Has("got/x"));
}

TEST_F(ArtifactsTest, WrongWordsAreAUsageError) {
  EXPECT_EQ(Trainctl({"artifacts", "ls"}).code, kExitUsage);
  EXPECT_EQ(Trainctl({"artifacts", "get", "j1"}).code, kExitUsage);
  const Ended ended = Trainctl({"artifacts", "rm", "j1"});
  EXPECT_EQ(ended.code, kExitUsage);
  EXPECT_NE(ended.err.find("artifacts rm: expected ls or get"), std::string::npos) << ended.err;
}

}  // namespace
}  // namespace trainctl::client
