#include "client/show/first_row.h"

#include "common/estimate/memory_estimate.h"
#include "tests/client/submit_fixture.h"

namespace trainctl::client {
namespace {

job::ShownRow Row() {
  return {9, 4, {{"<s>Hi\n", false}, {"Ho\t\x1b[31m</s>", true}}, "it has a date"};
}

constexpr char kText[] =
    "First row: 9 tokens; the 4 that count in the loss stand between « and »\n"
    "  <s>Hi\\n«Ho\\t\\u001b[31m</s>»\n"
    "Note: it has a date\n";

TEST_F(SubmitTest, ADryRunShowsTheFirstRowAndWhatOfItCounts) {
  job::Inspection inspection = SmallModel(100);
  inspection.first_row = Row();
  coordinator_.inspection->set_inspection_json(job::ToJson(inspection));
  const std::string file = File("tiny.json", kJob);
  const Ended people = Trainctl({"submit", file, "--dry-run"});
  EXPECT_NE(people.out.find(kText), std::string::npos) << people.out;
  const Json json = Json::parse(Trainctl({"submit", file, "--dry-run", "-o", "json"}).out);
  EXPECT_EQ(json["jobs"][0]["first_row"], FirstRowJson(inspection));
  EXPECT_EQ(json["jobs"][0]["first_row"]["pieces"][1]["trained"], true);
  EXPECT_EQ(json["jobs"][0]["first_row"]["note"], "it has a date");
}

TEST_F(SubmitTest, ADescriptionShowsTheFirstRowToo) {
  v1::JobView job;
  job.set_id("j1");
  job.set_name("tiny");
  coordinator_.jobs = {job};
  job::Inspection inspection = SmallModel(100);
  inspection.first_row = Row();
  inspection.model_revision = "abc";
  coordinator_.details["j1"].set_inspection_json(job::ToJson(inspection));
  const Ended ended = Trainctl({"describe", "j1"});
  EXPECT_NE(ended.out.find("Model revision: abc\n" + std::string(kText)), std::string::npos)
      << ended.out;
}

TEST_F(SubmitTest, ADryRunOfAModelOfTheHubNamesItsRevision) {
  job::Inspection inspection = SmallModel(100);
  inspection.model_revision = "abc";
  coordinator_.inspection->set_inspection_json(job::ToJson(inspection));
  const Ended ended =
      Trainctl({"submit", File("tiny.json", kJob), "--dry-run", "--model.path", "Qwen/Qwen3-0.6B"});
  EXPECT_NE(ended.out.find("  model   Qwen/Qwen3-0.6B at revision abc\n"), std::string::npos)
      << ended.out << ended.err;
}

TEST_F(SubmitTest, ADryRunSaysOfWhatSampleItIs) {
  const std::string file = File("tiny.json", kJob);
  EXPECT_EQ(Trainctl({"submit", file, "--dry-run"}).out.find("sample of"), std::string::npos);
  job::Inspection inspection = SmallModel(4'600'000);
  inspection.sampled_rows = 25'674;
  coordinator_.inspection->set_inspection_json(job::ToJson(inspection));
  const std::string line =
      "  data    about 4,600,000 rows, reckoned from a sample of 25,674; memory is for rows "
      "of train.max_seq_length\n";
  const Ended people = Trainctl({"submit", file, "--dry-run"});
  EXPECT_NE(people.out.find(line), std::string::npos) << people.out;
  const Json json = Json::parse(Trainctl({"submit", file, "--dry-run", "-o", "json"}).out);
  EXPECT_EQ(json["jobs"][0]["sampled_rows"], 25'674);
}

TEST_F(SubmitTest, ADryRunSaysHowManyPicturesAreBrokenWhoseRowsAreLeftOut) {
  const std::string file = File("tiny.json", kJob);
  job::Inspection inspection = SmallModel(100);
  inspection.decoded_pictures = 64;
  coordinator_.inspection->set_inspection_json(job::ToJson(inspection));
  EXPECT_EQ(Trainctl({"submit", file, "--dry-run"}).out.find("pictures"), std::string::npos);
  inspection.broken_pictures = 3;
  coordinator_.inspection->set_inspection_json(job::ToJson(inspection));
  EXPECT_NE(Trainctl({"submit", file, "--dry-run"})
                .out.find("  data    3 of 64 pictures that were looked at are broken: such rows "
                          "are left out\n"),
            std::string::npos);
  const Json json = Json::parse(Trainctl({"submit", file, "--dry-run", "-o", "json"}).out);
  EXPECT_EQ(json["jobs"][0]["broken_pictures"], 3);
}

TEST_F(SubmitTest, ADryRunSaysHowManyRowsAreCutAndHowManyTrainNothing) {
  const std::string file = File("tiny.json", kJob);
  job::Inspection inspection = SmallModel(2000);
  coordinator_.inspection->set_inspection_json(job::ToJson(inspection));
  const std::string silent = Trainctl({"submit", file, "--dry-run"}).out;
  EXPECT_EQ(silent.find(" rows fill "), std::string::npos);
  EXPECT_EQ(silent.find("counts in the loss"), std::string::npos);
  inspection.full_rows = 412;
  inspection.untrained_rows = 3;
  coordinator_.inspection->set_inspection_json(job::ToJson(inspection));
  const std::string said = Trainctl({"submit", file, "--dry-run"}).out;
  EXPECT_NE(said.find("  data    412 of 2,000 rows fill train.max_seq_length "), std::string::npos);
  EXPECT_NE(said.find("  data    3 of 2,000 rows have no token that counts in the loss\n"),
            std::string::npos);
  const Json json = Json::parse(Trainctl({"submit", file, "--dry-run", "-o", "json"}).out);
  EXPECT_EQ(json["jobs"][0]["full_rows"], 412);
  EXPECT_EQ(json["jobs"][0]["untrained_rows"], 3);
}

TEST_F(SubmitTest, ADryRunSaysForWhomTheLookAtTheDataWaited) {
  const std::string file = File("tiny.json", kJob);
  job::Inspection inspection = SmallModel(100);
  inspection.waited_for = "j7 (process 12)";
  coordinator_.inspection->set_inspection_json(job::ToJson(inspection));
  EXPECT_NE(Trainctl({"submit", file, "--dry-run"})
                .out.find("  data    the look at it waited for j7 (process 12), which makes the "
                          "same tokens\n"),
            std::string::npos);
  const Json json = Json::parse(Trainctl({"submit", file, "--dry-run", "-o", "json"}).out);
  EXPECT_EQ(json["jobs"][0]["waited_for"], "j7 (process 12)");
}

TEST(FirstRow, MostHaveNoNote) {
  job::Inspection inspection;
  inspection.first_row = Row();
  inspection.first_row->note = "";
  EXPECT_TRUE(FirstRowText(inspection, {}).ends_with("</s>»\n"));
}

TEST(FirstRow, WithoutOneThereIsNoText) {
  EXPECT_EQ(FirstRowText({}, {}), "");
  EXPECT_TRUE(FirstRowJson({}).is_null());
}

}  // namespace
}  // namespace trainctl::client
