// What a job would do to the work of another: folders that are taken, and jobs that are resumed.

#include "client/exit_code.h"
#include "client/show/output.h"
#include "client/submit/job_file.h"
#include "tests/client/submit_fixture.h"

namespace trainctl::client {
namespace {

TEST_F(SubmitTest, AFolderOfAnotherJobIsRefusedAndADryRunSaysSo) {
  job::Inspection inspection = SmallModel(64);
  inspection.output = {job::FolderOwner{"site-1", "j3", "old"}, 1, "config.json"};
  const auto answer = [](const job::Inspection& found) {
    v1::InspectResponse response;
    response.set_inspection_json(job::ToJson(found));
    return response;
  };
  coordinator_.inspection = answer(inspection);
  coordinator_.site = "site-1";
  const std::string path = File("tiny.json", kJob);
  const std::vector<std::string> output = {"--output.dir", "/out", "--output.save", "final"};
  const auto submit = [&](std::vector<std::string> words) {
    words.insert(words.end(), output.begin(), output.end());
    return Trainctl(words);
  };
  const Ended refused = submit({"submit", path, "--force"});
  EXPECT_EQ(refused.code, kExitUsage);
  EXPECT_NE(refused.err.find("it belongs to j3 (old)"), std::string::npos) << refused.err;
  EXPECT_EQ(submit({"submit", path, "--dry-run"}).code, kExitWouldNotRun);
  inspection.output->contents = "";
  coordinator_.inspection = answer(inspection);
  EXPECT_EQ(submit({"submit", path}).code, 0) << "the job has ended and written nothing";
}

class OwnedFolderTest : public SubmitTest {
 protected:
  OwnedFolderTest() {
    job::Inspection inspection = SmallModel(64);
    inspection.output = {job::FolderOwner{"site-1", "j3", "old"}, 1, "config.json"};
    coordinator_.inspection->set_inspection_json(job::ToJson(inspection));
    coordinator_.site = "site-1";
    coordinator_.details["j3"].set_job_json(
        job::ToJson(ReadJobText(kJob, {.path = "/tiny.json"})->jobs.front()));
  }

  void FailOnTheWay() {
    coordinator_.jobs = {FinishedJob("j3", "old", "FAILED")};
    coordinator_.jobs[0].set_step(coordinator_.jobs[0].steps() / 2);
  }

  void AddCheckpoint() {
    v1::Artifact* checkpoint = coordinator_.details["j3"].add_artifacts();
    checkpoint->set_kind("checkpoint");
    checkpoint->set_path("/out/checkpoints/step-4");
  }

  // After whose the folder is.
  std::string Advice() {
    const Ended refused = Trainctl(
        {"submit", File("tiny.json", kJob), "--output.dir", "/out", "--output.save", "final"});
    EXPECT_EQ(refused.code, kExitUsage);
    const std::string whose = "it belongs to j3 (old)";
    const size_t at = refused.err.find(whose);
    return at == std::string::npos ? refused.err : refused.err.substr(at + whose.size());
  }
};

TEST_F(OwnedFolderTest, OfAJobWithACheckpointIsGoneOnFrom) {
  FailOnTheWay();
  AddCheckpoint();
  EXPECT_EQ(Advice(),
            ": go on from there with: trainctl resume j3; or name another folder, as with "
            "--output.dir DIR\n");
}

TEST_F(OwnedFolderTest, OfAJobThatCannotBeResumedIsFreedWithItsFiles) {
  const std::string frees =
      ": name another folder, as with --output.dir DIR; trainctl rm j3 --outputs frees this one\n";
  FailOnTheWay();
  EXPECT_EQ(Advice(), ", which has no checkpoint to go on from" + frees);
  AddCheckpoint();
  coordinator_.jobs = {FinishedJob("j3", "old", "SUCCEEDED")};
  EXPECT_EQ(Advice(), ", which has made all its steps" + frees);
}

TEST_F(OwnedFolderTest, OfARemovedJobIsRemovedByHand) {
  EXPECT_EQ(Advice(),
            ", which this site no longer knows: name another folder, as with --output.dir DIR, or "
            "remove this one if it is no longer wanted\n");
}

TEST_F(OwnedFolderTest, OfAJobThatHasNotEndedIsNotResumed) {
  coordinator_.jobs = {RunningJob("j3", "old")};
  AddCheckpoint();
  EXPECT_EQ(Advice(), ", which has not ended: name another folder, as with --output.dir DIR\n");
}

TEST_F(SubmitTest, AFolderThatAQueuedJobNamesIsRefusedAndADryRunSaysSo) {
  v1::JobView queued = RunningJob("j7", "other");
  queued.set_state("QUEUED");
  queued.set_output_dir("/out");
  v1::JobView ended = FinishedJob("j6", "older", "SUCCEEDED");
  ended.set_output_dir("/free");
  coordinator_.jobs = {queued, ended};
  const std::string path = File("tiny.json", kJob);
  const auto dry_run = [&](const std::string& folder) {
    return Trainctl(
        {"submit", path, "--dry-run", "--output.save", "final", "--output.dir", folder});
  };
  const Ended refused = dry_run("/data/../out/");
  EXPECT_EQ(refused.code, kExitWouldNotRun);
  EXPECT_NE(refused.out.find("it is that of j7, which has not ended"), std::string::npos)
      << refused.out;
  const Ended within = dry_run("/out/second");
  EXPECT_EQ(within.code, kExitWouldNotRun);
  EXPECT_NE(within.out.find("it is within \"/out\", that of j7, which has not ended"),
            std::string::npos)
      << within.out;
  EXPECT_EQ(dry_run("/").code, kExitWouldNotRun) << "j7's is within it";
  EXPECT_EQ(dry_run("/outer").code, 0) << "the name alone begins alike";
  EXPECT_EQ(dry_run("/free").code, 0) << "its job has ended";
  EXPECT_EQ(Trainctl({"submit", path, "--dry-run", "--output.dir", "/out"}).code, 0)
      << "it writes nothing there";
}

TEST_F(SubmitTest, ADryRunOfAJobThatGoesOnCountsWhatRemains) {
  job::Inspection inspection = SmallModel(100);
  inspection.resume_step = 9;
  coordinator_.inspection->set_inspection_json(job::ToJson(inspection));
  v1::EarlierRunsResponse earlier;
  v1::DeviceRuns* runs = earlier.add_jobs()->add_devices();
  runs->set_device_name("CPU slot (1 thread)");
  runs->set_step_seconds(0.5);
  runs->set_runs(1);
  coordinator_.earlier_runs = earlier;
  const auto dry_run = [&](const std::string& max_steps, const std::string& format) {
    return Trainctl({"submit", File("tiny.json", kJob), "--dry-run", "-o", format,
                     "--checkpoint.resume_from", "/out", "--train.max_steps", max_steps});
  };
  const Json job = Json::parse(dry_run("11", "json").out)["jobs"][0];
  EXPECT_EQ(job["steps"], 11);
  EXPECT_EQ(job["first_step"], 9);
  EXPECT_EQ(job["time"]["training_seconds"], 1.0) << "two steps";
  const Ended people = dry_run("11", "table");
  EXPECT_NE(people.out.find("; 9 are done, 2 remain"), std::string::npos) << people.out;
  const Ended beyond = dry_run("8", "table");
  EXPECT_EQ(beyond.code, kExitWouldNotRun);
  EXPECT_NE(beyond.out.find("it is at step 9: raise train.max_steps"), std::string::npos)
      << beyond.out;
}

TEST_F(SubmitTest, AJobThatHasMadeAllItsStepsIsNotResumed) {
  job::JobSpec spec = ReadJobText(kJob, {.path = "/tiny.json"})->jobs.front();
  spec.output = {.dir = "/out", .save = job::Save::kFinal};
  spec.checkpoint.every_steps = 4;
  v1::JobDetail& detail = coordinator_.details["j1"];
  detail.set_job_json(job::ToJson(spec));
  for (const auto& [kind, path] :
       {std::pair("checkpoint", "/out/checkpoints/step-8"), std::pair("final", "/out")}) {
    v1::Artifact* artifact = detail.add_artifacts();
    artifact->set_kind(kind);
    artifact->set_path(path);
  }
  coordinator_.jobs = {FinishedJob("j1", "tiny", "SUCCEEDED")};
  coordinator_.jobs[0].set_step(11);
  coordinator_.jobs[0].set_steps(11);
  const Ended refused = Trainctl({"resume", "j1"});
  EXPECT_EQ(refused.code, kExitUsage);
  EXPECT_NE(refused.err.find("tiny (j1) has made all its 11 steps, and its model is in /out"),
            std::string::npos)
      << refused.err;
  EXPECT_TRUE(coordinator_.submissions.empty());
  EXPECT_EQ(coordinator_.inspections_asked, 0) << "it is known before";
  const Ended dry_run = Trainctl({"resume", "j1", "--dry-run"});
  EXPECT_EQ(dry_run.code, kExitWouldNotRun);
  EXPECT_NE(dry_run.out.find("give more steps"), std::string::npos) << dry_run.out;
  const std::vector<std::string> more = {"resume", "j1", "--train.epochs", "2"};
  const Ended over = Trainctl(more);
  EXPECT_NE(over.err.find("another folder for the new model"), std::string::npos) << over.err;
  std::vector<std::string> elsewhere = more;
  elsewhere.insert(elsewhere.end(), {"--output.dir", "/more"});
  EXPECT_EQ(Trainctl(elsewhere).code, 0);
  EXPECT_EQ(SubmittedJob().checkpoint.resume_job, "j1");
}

TEST_F(SubmitTest, AJobThatItsLeaseEndedIsResumedWithoutIt) {
  job::JobSpec spec = ReadJobText(kJob, {.path = "/tiny.json"})->jobs.front();
  spec.output = {.dir = "/out", .save = job::Save::kFinal};
  spec.checkpoint = {.every_steps = 4, .resume_from = "/out/checkpoints", .resume_job = "j0"};
  spec.resources.lease = "lab2";
  coordinator_.details["j2"].set_job_json(job::ToJson(spec));
  coordinator_.jobs = {FinishedJob("j2", "tiny", "LEASE_ENDED")};
  const Ended ended = Trainctl({"resume", "j2"});
  EXPECT_EQ(ended.code, kExitOk) << ended.err;
  EXPECT_NE(ended.err.find("note: lease 'lab2' is over"), std::string::npos) << ended.err;
  EXPECT_EQ(SubmittedJob().resources.lease, std::nullopt);
}

TEST_F(SubmitTest, AResumeThatNeverBeganIsResumedFromWhatItWasToGoOnFrom) {
  job::JobSpec spec = ReadJobText(kJob, {.path = "/tiny.json"})->jobs.front();
  spec.output = {.dir = "/out", .save = job::Save::kFinal};
  spec.checkpoint = {.every_steps = 4, .resume_from = "/out/checkpoints", .resume_job = "j1"};
  coordinator_.details["j2"].set_job_json(job::ToJson(spec));
  coordinator_.jobs = {FinishedJob("j2", "tiny", "CANCELLED")};
  coordinator_.jobs[0].set_started_at(0);
  EXPECT_EQ(Trainctl({"resume", "j2"}).code, kExitOk);
  EXPECT_EQ(SubmittedJob().checkpoint.resume_job, "j1");
  EXPECT_EQ(SubmittedJob().checkpoint.resume_from, "/out/checkpoints");
}

}  // namespace
}  // namespace trainctl::client
