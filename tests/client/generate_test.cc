#include <gmock/gmock.h>

#include "client/exit_code.h"
#include "client/submit/generation.h"
#include "tests/client/submit_fixture.h"

namespace trainctl::client {
namespace {

using testing::HasSubstr;

void Say(v1::JobDetail* detail, int64_t place, const std::string& prompt, const std::string& text) {
  v1::Continuation& said = *detail->add_continuations();
  said.set_place(place);
  said.set_prompt(prompt);
  said.set_text(text);
}

// j1 has saved a model; what generate submits is j2.
class GenerateTest : public SubmitTest {
 protected:
  GenerateTest() {
    coordinator_.jobs = {FinishedJob("j1", "tiny", "SUCCEEDED")};
    job::JobSpec trained = job::FromJson(kJob).value();
    trained.output = {.dir = "/out/tiny", .save = job::Save::kFinal};
    trained.lora.emplace().r = 8;
    trained.precision = job::Precision::kBf16Mixed;
    trained.resources.priority = 90;
    SetTrained(trained);
    Save("final");
  }

  void SetTrained(const job::JobSpec& job) {
    coordinator_.details["j1"].set_job_json(job::ToJson(job));
  }

  void Save(const std::string& kind) {
    coordinator_.details["j1"].clear_artifacts();
    v1::Artifact& artifact = *coordinator_.details["j1"].add_artifacts();
    artifact.set_kind(kind);
    artifact.set_path("/out/tiny");
    artifact.set_host("alpha");
    artifact.set_bytes(7);
    coordinator_.artifacts["/out/tiny"] = {{"config.json", "{}"}, {"weights", "12345"}};
  }

  // How j2 is seen: what is told, and what it ended as.
  void Script(const std::string& outcome, const std::string& message = "") {
    v1::JobView end = FinishedJob("j2", "generate-j1", outcome);
    end.set_message(message);
    coordinator_.watchings = {{.told = {end}}};
    *coordinator_.details["j2"].mutable_view() = end;
  }

  Ended Generate(std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"generate", "tiny", "--prompt", "Once"};
    words.insert(words.end(), more.begin(), more.end());
    return Trainctl(words);
  }
};

// Of a policy such as deploy/policy.example.json: what generate leaves unsaid is the policy's.
TEST_F(GenerateTest, AStrictPolicyTakesIt) {
  coordinator_.policy.emplace().set_user("ann");
  coordinator_.policy->set_max_priority(60);
  coordinator_.policy->set_max_time_limit_seconds(86'400);
  Script("SUCCEEDED");
  const Ended ended = Generate();
  ASSERT_EQ(coordinator_.submissions.size(), 1u) << ended.err;
  EXPECT_EQ(SubmittedJob().resources.priority, 60);
  EXPECT_NE(ended.err.find("resources.time_limit is 1d"), std::string::npos) << ended.err;
}

TEST_F(GenerateTest, TheJobContinuesThePromptsWithTheSavedModel) {
  Script("SUCCEEDED");
  const Ended ended =
      Generate({"--prompt", "Two", "--max-new-tokens", "9", "--temperature", "0.5", "--seed", "7"});
  ASSERT_EQ(coordinator_.submissions.size(), 1u) << ended.err;
  const job::JobSpec job = SubmittedJob();
  EXPECT_EQ(job.name, "generate-j1");
  EXPECT_EQ(job.model.path, "/out/tiny");
  EXPECT_EQ(job.train.max_steps, 0);
  EXPECT_EQ(job.eval.prompts, (std::vector<std::string>{"Once", "Two"}));
  EXPECT_EQ(job.eval.max_new_tokens, 9);
  EXPECT_EQ(job.eval.temperature, 0.5);
  EXPECT_EQ(job.seed, 7);
  EXPECT_EQ(job.precision, job::Precision::kBf16Mixed);
  EXPECT_EQ(job.resources.priority, 90) << "as it was trained";
  EXPECT_FALSE(job.lora) << "a whole model has no adapters";
  EXPECT_FALSE(job.output.dir);
}

TEST_F(GenerateTest, TheModelOfChatsAnswers) {
  job::JobSpec trained = job::FromJson(kJob).value();
  trained.data.format = job::DataFormat::kChat;
  trained.data.chat_template = job::ChatTemplate::kZephyr;
  SetTrained(trained);
  Script("SUCCEEDED");
  Generate();
  EXPECT_TRUE(job::PromptsAreTurns(SubmittedJob()));
  EXPECT_EQ(SubmittedJob().data.chat_template, job::ChatTemplate::kZephyr);
}

TEST_F(GenerateTest, RawPromptsAreNoTurns) {
  Script("SUCCEEDED");
  Generate({"--raw"});
  EXPECT_TRUE(SubmittedJob().eval.raw_prompts);
}

TEST_F(GenerateTest, ItRunsWhereTheModelLies) {
  Script("SUCCEEDED");
  Generate();
  EXPECT_EQ(SubmittedJob().resources.constraints.at("host"), "=alpha");
}

TEST_F(GenerateTest, AModelOfWordsTakesNoPictures) {
  const Ended ended = Generate({"--image", "/a.png"});
  EXPECT_THAT(ended.err, HasSubstr("eval.images: expected none with a model of type 'llama'"));
  EXPECT_TRUE(coordinator_.submissions.empty());
}

TEST_F(GenerateTest, AnAdapterKeepsTheLoraThatItWasTrainedWith) {
  Save("adapter");
  Script("SUCCEEDED");
  EXPECT_EQ(Generate().err, "Submitted generate-j1 as j2.\n");
  ASSERT_EQ(coordinator_.submissions.size(), 1u);
  EXPECT_EQ(SubmittedJob().lora->r, 8);
}

TEST_F(GenerateTest, TextsComeAfterTheirPromptsAndTheExitCodeSaysHowItEnded) {
  Script("SUCCEEDED");
  Say(&coordinator_.details["j2"], 0, "Once", " upon\na time");
  Say(&coordinator_.details["j2"], 1, "Two", " are");
  const Ended good = Generate();
  EXPECT_EQ(good.out, "Once upon\na time\n\nTwo are\n");
  EXPECT_EQ(good.code, kExitOk);
}

TEST_F(GenerateTest, AJobThatFailsSaysWhy) {
  Script("FAILED", "the device is gone");
  const Ended ended = Generate();
  EXPECT_EQ(ended.code, kExitJobFailed);
  EXPECT_THAT(ended.err, HasSubstr("generate-j1 (j2) ended FAILED: the device is gone"));
}

TEST_F(GenerateTest, ScriptsGetAListing) {
  Script("SUCCEEDED");
  Say(&coordinator_.details["j2"], 0, "Once", " upon");
  const Json json = Json::parse(Generate({"-o", "json"}).out);
  EXPECT_EQ(json["outcome"], "SUCCEEDED");
  EXPECT_EQ(json["continuations"][0]["text"], " upon");
  EXPECT_EQ(json["continuations"][0]["job"], "j2");
}

TEST_F(GenerateTest, AJobThatHasNotEndedOrSavedNothingIsRefusedWithWhatToDo) {
  coordinator_.jobs = {RunningJob("j1", "tiny")};
  const Ended running = Generate();
  EXPECT_EQ(running.code, kExitFailure);
  EXPECT_THAT(running.err, HasSubstr("wait for it with: trainctl wait j1"));
  coordinator_.jobs = {FinishedJob("j1", "tiny", "SUCCEEDED")};
  coordinator_.details["j1"].mutable_artifacts(0)->set_kind("checkpoint");
  const Ended failed = Generate();
  EXPECT_EQ(failed.code, kExitUsage);
  EXPECT_THAT(failed.err, HasSubstr("tiny (j1) has saved no model: it ended SUCCEEDED before"));
  SetTrained(job::FromJson(kJob).value());
  EXPECT_THAT(Generate().err, HasSubstr("--output.dir DIR --output.save final"));
  EXPECT_TRUE(coordinator_.submissions.empty());
}

TEST_F(GenerateTest, AModelThatIsGoneOrAnotherByNowIsRefused) {
  coordinator_.artifacts["/out/tiny"]["weights"] = "123456";
  const Ended other = Generate();
  EXPECT_EQ(other.code, kExitFailure);
  EXPECT_THAT(other.err, HasSubstr("/out/tiny on alpha is not what tiny (j1) saved there: it had 7 "
                                   "bytes, now 8"));
  coordinator_.artifacts.clear();
  coordinator_.artifact_error = {base::Code::kNotFound, "/out/tiny is gone"};
  const Ended gone = Generate();
  EXPECT_EQ(gone.code, kExitNotFound);
  EXPECT_THAT(gone.err, HasSubstr("/out/tiny is gone"));
  EXPECT_TRUE(coordinator_.submissions.empty());
}

TEST_F(GenerateTest, WhatIsWrongInTheWordsIsSaidByKey) {
  EXPECT_THAT(Trainctl({"generate", "tiny"}).err, HasSubstr("give --prompt TEXT, or --image FILE"));
  EXPECT_THAT(Generate({"--prompt", "Two", "--image", "a.png"}).err,
              HasSubstr("--prompt stands 2 times, expected once, or once for each --image"));
  const Ended empty = Generate({"--image", ""});
  EXPECT_EQ(empty.code, kExitUsage);
  EXPECT_THAT(empty.err, HasSubstr("--image '': expected the path of a picture"));
  const Ended ended = Generate({"--temperature", "hot"});
  EXPECT_EQ(ended.code, kExitUsage);
  EXPECT_THAT(ended.err, HasSubstr("eval.temperature"));
}

TEST_F(GenerateTest, ADryRunSubmitsNothing) {
  const Ended ended = Generate({"--dry-run"});
  EXPECT_EQ(ended.code, kExitOk) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("none: 1 prompt of up to 64 new tokens"));
  EXPECT_TRUE(coordinator_.submissions.empty());
}

TEST(TextPrinter, GoesOnWithWhatHasGrown) {
  std::ostringstream out;
  TextPrinter printer(out);
  v1::JobDetail detail;
  printer.Show(detail);
  EXPECT_EQ(out.str(), "");
  Say(&detail, 0, "Once", " up");
  printer.Show(detail);
  printer.Show(detail);
  EXPECT_EQ(out.str(), "Once up");
  detail.mutable_continuations(0)->set_text(" upon");
  Say(&detail, 1, "Two", "");
  printer.Show(detail);
  EXPECT_EQ(out.str(), "Once upon\n\nTwo");
  detail.mutable_continuations(0)->set_text(" another");
  detail.mutable_continuations(1)->set_text(" are");
  printer.Show(detail);
  printer.Finish();
  EXPECT_EQ(out.str(), "Once upon\n\nTwo are\n");
}

TEST(TextPrinter, AnAnswerToATurnBeginsALine) {
  job::JobSpec job = job::FromJson(kJob).value();
  job.data.format = job::DataFormat::kChat;
  const auto shown = [&job] {
    std::ostringstream out;
    v1::JobDetail detail;
    detail.set_job_json(job::ToJson(job));
    Say(&detail, 0, "Who?", "Me");
    TextPrinter(out).Show(detail);
    return out.str();
  };
  EXPECT_EQ(shown(), "Who?\nMe");
  job.eval.raw_prompts = true;
  EXPECT_EQ(shown(), "Who?Me");
}

TEST(TextPrinter, ATextThatBecameAnotherIsShownAnew) {
  std::ostringstream out;
  TextPrinter printer(out);
  v1::JobDetail detail;
  Say(&detail, 0, "a", "bc");
  printer.Show(detail);
  detail.mutable_continuations(0)->set_text("bd");
  printer.Show(detail);
  EXPECT_EQ(out.str(), "abc\nabd");
}

}  // namespace
}  // namespace trainctl::client
