// trainctl explain TOPIC.
#include <regex>
#include <sstream>

#include "client/exit_code.h"
#include "client/show/explanations.h"
#include "client/show/key_text.h"
#include "client/show/output.h"
#include "common/base/file.h"
#include "common/job/job.h"
#include "common/job/outcome.h"
#include "common/job/schema.h"
#include "common/job/worker_state.h"
#include "tests/checkout.h"
#include "tests/client/client_test.h"

namespace trainctl::client {
namespace {

using ExplainTest = ClientTest;

TEST_F(ExplainTest, ExplainKnowsItsTopicsByAllTheirNames) {
  EXPECT_EQ(Trainctl({"explain", "micro", "batch"}).out,
            Trainctl({"explain", "micro_batch_size"}).out);
  EXPECT_EQ(Trainctl({"explain", "8-bit", "adam"}).code, 0);
  EXPECT_EQ(Trainctl({"explain", "OOM"}).code, 0);
  const Ended ended = Trainctl({"explain", "acumulation"});
  EXPECT_EQ(ended.code, kExitNotFound);
  EXPECT_NE(ended.err.find("did you mean 'accumulation'?"), std::string::npos);
}

TEST_F(ExplainTest, EveryOutcomeAndStateOfTheTablesIsExplained) {
  for (int i = 0; i <= static_cast<int>(job::Outcome::kLaunchFailed); ++i) {
    const std::string name(job::Name(static_cast<job::Outcome>(i)));
    EXPECT_NE(Trainctl({"explain", name}).out.find(name), std::string::npos) << name;
  }
  for (int i = 0; i <= static_cast<int>(job::JobState::kFinished); ++i) {
    const std::string name(job::Name(static_cast<job::JobState>(i)));
    EXPECT_NE(Trainctl({"explain", name}).out.find(name), std::string::npos) << name;
  }
  for (const job::WorkerState state : job::kWorkerStates) {
    const std::string name(job::Name(state));
    EXPECT_NE(Trainctl({"explain", name}).out.find(name), std::string::npos) << name;
  }
}

TEST_F(ExplainTest, WordsOfComparisonsAreExplained) {
  for (const char* word : {"tokens/s", "samples/s", "speed-up", "peak", "allocated", "epoch",
                           "attempt", "gang", "CPU slot"})
    EXPECT_EQ(Trainctl({"explain", word}).code, kExitOk) << word;
}

TEST_F(ExplainTest, AMistypedWordIsAnsweredWithTheNearestOne) {
  EXPECT_NE(Trainctl({"explain", "DIVERGD"}).err.find("no topic or job 'DIVERGD'"),
            std::string::npos);
  EXPECT_NE(Trainctl({"explain", "DIVERGD"}).err.find("did you mean 'diverged'?"),
            std::string::npos);
  EXPECT_NE(
      Trainctl({"explain", "train.micro_batch"}).err.find("did you mean 'train.micro_batch_size'?"),
      std::string::npos);
}

TEST_F(ExplainTest, ExplainListsItsTopics) {
  const Json json = Json::parse(Trainctl({"explain", "-o", "json"}).out);
  EXPECT_EQ(json["topics"].size(), Explanations().size());
}

TEST_F(ExplainTest, AnExplanationIsALineOfJsonToo) {
  const std::string line = Trainctl({"explain", "oom", "-o", "jsonl"}).out;
  EXPECT_EQ(Json::parse(line)["topic"], "oom");
}

TEST_F(ExplainTest, EveryExplanationIsAParagraphOfReadableLinesWithSomethingToTry) {
  for (const Explanation& explanation : Explanations()) {
    std::istringstream lines{std::string(explanation.text)};
    std::string line;
    int count = 0;
    for (; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 120u) << explanation.topic;
    EXPECT_GE(count, 3) << explanation.topic;
    EXPECT_EQ(explanation.attempt.find("trainctl "), 0u) << explanation.topic;
  }
}

TEST_F(ExplainTest, AKeyOfTheJobFileIsExplainedByItsRowOfTheSchema) {
  const std::string text = Trainctl({"explain", "data.val_split_fraction"}).out;
  for (const std::string& part : {job::FindField("data.val_split_fraction")->doc,
                                  std::string("Default: 0"), std::string("below 1")})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_EQ(Trainctl({"explain", "val_split_fraction"}).out, text);
  const Json json = Json::parse(Trainctl({"explain", "model.path", "-o", "json"}).out);
  EXPECT_EQ(json["keys"][0]["default"], nullptr);
  EXPECT_EQ(json["keys"][0]["keys"], nullptr);
}

TEST_F(ExplainTest, AWordThatSeveralKeysOfTheJobFileEndWithExplainsAllOfThem) {
  EXPECT_EQ(Trainctl({"explain", "path", "-o", "name"}).out, "model.path\ndata.path\n");
  EXPECT_NE(Trainctl({"explain", "train"}).out.find(" train.epochs,"), std::string::npos);
  EXPECT_EQ(Trainctl({"explain", "tags.lab", "-o", "name"}).out, "tags\n");
}

TEST_F(ExplainTest, OfHowManyEvaluationsTextsAreKeptIsSaidWhereverAUserLooks) {
  const std::regex told("of the first[^.]* newest " + std::to_string(job::kNewestTextsKept) +
                        "\\b");
  std::vector<std::string> pages = {
      base::ReadRegularFile(checkout::File("README.md"), 1 << 20).value()};
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"explain", "texts"}, {"explain", "eval.prompts"}, {"describe", "--help"}})
    pages.push_back(Trainctl(words).out);
  for (const std::string& page : pages) {
    const std::string text = std::regex_replace(page, std::regex("\\s+"), " ");
    EXPECT_TRUE(std::regex_search(text, told)) << page.substr(0, 2000);
  }
}

TEST_F(ExplainTest, TheRecordOfAKeyHasAllThatItsTextTells) {
  for (const char* word : {"train", "data.seed", "model.path"}) {
    const Json key = Json::parse(Trainctl({"explain", word, "-o", "json"}).out)["keys"][0];
    EXPECT_EQ(Trainctl({"explain", word}).out, KeyText(key));
    EXPECT_EQ(key["keys"].is_null(), !key["values"].is_null()) << key;
  }
  const Json train = Json::parse(Trainctl({"explain", "train", "-o", "json"}).out)["keys"][0];
  EXPECT_NE(train["keys"].dump().find("\"train.epochs\""), std::string::npos) << train;
}

}  // namespace
}  // namespace trainctl::client
