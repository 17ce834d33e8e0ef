#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/job/valid_job.h"

namespace trainctl::job {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A lab over the smallest job; experiments begin in line 3.
std::string Lab(const std::string& experiments, const std::string& more_of_base = "") {
  return "{\"base\": {\"version\": 1, \"model\": {\"path\": \"m\"}, \"data\": {\"path\": \"d\"}, "
         "\"train\": {\"micro_batch_size\": "
         "4},\n\"devices\": 1" +
         more_of_base + "}, \"experiments\": [\n" + experiments + "]}";
}

LabSpec Experiments(const std::string& text, std::vector<Override> overrides = {}) {
  const ReadJob read = Read(text, std::move(overrides));
  EXPECT_THAT(read.problems, IsEmpty()) << Format(read.problems, "lab.json");
  EXPECT_FALSE(read.job);
  return read.lab.value_or(LabSpec{});
}

std::vector<Problem> Problems(const std::string& text) {
  const ReadJob read = Read(text);
  EXPECT_FALSE(read.lab);
  return read.problems;
}

TEST(LabFile, EachExperimentIsTheBaseWithItsSet) {
  const LabSpec lab = Experiments(
      Lab(R"({"name": "a"}, {"name": "b", "set": {"precision": "bf16-true"}, "expect": "OOM"})"));
  EXPECT_EQ(lab.name, "job");
  ASSERT_EQ(lab.experiments.size(), 2u);
  EXPECT_EQ(lab.experiments[0].name, "a");
  EXPECT_EQ(lab.experiments[0].precision, Precision::k32True);
  EXPECT_EQ(lab.experiments[0].expect, std::nullopt);
  EXPECT_EQ(lab.experiments[1].name, "b");
  EXPECT_EQ(lab.experiments[1].precision, Precision::kBf16True);
  EXPECT_EQ(lab.experiments[1].expect, Expect::kOom);
  EXPECT_EQ(lab.experiments[1].model.path, "m");
}

TEST(LabFile, ItsTitleIsTheQuestionOfAllThatHaveNone) {
  const std::string lab = R"("base": {"version": 1, "model": {"path": "m"}, "data": {"path": "d"},
      "train": {"micro_batch_size": 4}}, "experiments": [{"name": "a"},
      {"name": "b", "set": {"notes": "own"}}]})";
  const LabSpec read = Experiments(R"({"title": "Does it fit?", )" + lab);
  EXPECT_EQ(read.experiments[0].notes, "Does it fit?");
  EXPECT_EQ(read.experiments[1].notes, "own");
  const auto problems = Problems(R"({"title": 3, )" + lab);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].path, "title");
}

TEST(LabFile, ASetTakesDottedKeysAndNestedObjects) {
  const LabSpec lab = Experiments(Lab(
      R"({"name": "a", "set": {"train.epochs": 3, "tags.lab": "2"}}, {"name": "b", "set": {"train": {"epochs": 4}, "optimizer.lr": 1}})"));
  EXPECT_EQ(lab.experiments[0].train.epochs, 3);
  EXPECT_EQ(lab.experiments[0].tags.at("lab"), "2");
  EXPECT_EQ(lab.experiments[0].train.micro_batch_size, 4);
  EXPECT_EQ(lab.experiments[1].train.epochs, 4);
  EXPECT_EQ(lab.experiments[1].optimizer.lr, 1);
}

TEST(LabFile, ASetClearsTheOtherOfAnExclusivePair) {
  const LabSpec lab =
      Experiments(R"({"base": {"version": 1, "model": {"path": "m"}, "data": {"path": "d"},
    "train": {"micro_batch_size": 4, "global_batch_size": 8}},
    "experiments": [{"name": "a", "set": {"train.accumulate_grad_batches": 3}}, {"name": "b"}]})");
  EXPECT_EQ(lab.experiments.at(0).train.accumulate_grad_batches, 3);
  EXPECT_EQ(lab.experiments.at(0).train.global_batch_size, std::nullopt);
  EXPECT_EQ(lab.experiments.at(1).train.global_batch_size, 8);
}

TEST(LabFile, OverridesCountForEveryExperiment) {
  const LabSpec lab =
      Experiments(Lab(R"({"name": "a", "set": {"seed": 1}}, {"name": "b"})"), {{"seed", "7"}});
  EXPECT_EQ(lab.experiments[0].seed, 7);
  EXPECT_EQ(lab.experiments[1].seed, 7);
}

TEST(LabFile, TheBaseMayLackWhatEveryExperimentSets) {
  const LabSpec lab =
      Experiments(R"({"base": {"version": 1, "model": {"path": "m"}, "data": {"path": "d"}},
    "experiments": [{"name": "a", "set": {"train.micro_batch_size": 2}}]})");
  EXPECT_EQ(lab.experiments.at(0).train.micro_batch_size, 2);
}

TEST(LabFile, AProblemWithinASetHasItsPathAndLine) {
  const auto problems =
      Problems(Lab("{\"name\": \"a\"},\n{\"name\": \"b\",\n\"set\": {\"train\": {\n\"epochs\": "
                   "0},\n\"optimizer.lr\": -1}}"));
  ASSERT_EQ(problems.size(), 2u) << Format(problems, "lab.json");
  EXPECT_EQ(problems[0].path, "experiments[1].set.train.epochs");
  EXPECT_EQ(problems[0].line, 6);
  EXPECT_EQ(problems[1].path, "experiments[1].set.optimizer.lr");
  EXPECT_EQ(problems[1].line, 7);
}

TEST(LabFile, WhatTheCheckFindsInASetHasItsPathAndLine) {
  const auto problems = Problems(
      Lab("{\"name\": \"a\"},\n{\"name\": \"b\", \"set\": {\n\"train.global_batch_size\": 6}}"));
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].path, "experiments[1].set.train.global_batch_size");
  EXPECT_EQ(problems[0].line, 5);
  EXPECT_THAT(problems[0].hint, HasSubstr("4 or 8"));
}

TEST(LabFile, AProblemOfTheBaseIsSaidOnce) {
  const auto problems =
      Problems(Lab(R"({"name": "a"}, {"name": "b"}, {"name": "c"})", ",\n\"quantize\": \"nf4\""));
  ASSERT_EQ(problems.size(), 1u) << Format(problems, "lab.json");
  EXPECT_EQ(problems[0].path, "base.quantize");
  EXPECT_EQ(problems[0].line, 3);
}

TEST(LabFile, AProblemOfTheBaseInSomeExperimentsNamesThem) {
  const auto problems = Problems(
      Lab(R"({"name": "a"}, {"name": "b", "set": {"devices": 2}})", ",\n\"strategy\": \"single\""));
  ASSERT_EQ(problems.size(), 1u) << Format(problems, "lab.json");
  EXPECT_EQ(problems[0].path, "base.strategy");
  EXPECT_THAT(problems[0].hint, HasSubstr("in experiments[1]"));
}

TEST(LabFile, NamesAreRequiredAndUnique) {
  const auto missing = Problems(Lab(R"({"set": {}})"));
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(missing[0].path, "experiments[0].name");
  const auto twice = Problems(Lab("{\"name\": \"a\"},\n{\"name\": \"a\"}"));
  ASSERT_EQ(twice.size(), 1u);
  EXPECT_EQ(twice[0].path, "experiments[1].name");
  EXPECT_EQ(twice[0].line, 4);
  EXPECT_THAT(twice[0].hint, HasSubstr("experiments[0]"));
}

TEST(LabFile, UnknownKeysAreRefusedEverywhere) {
  const auto problems =
      Problems("{\"bases\": {},\n" + Lab("{\"name\": \"a\", \"sets\": {}}").substr(1));
  std::vector<std::string> paths, hints;
  for (const Problem& problem : problems) {
    paths.push_back(problem.path);
    hints.push_back(problem.hint);
  }
  EXPECT_THAT(paths, ElementsAre("bases", "experiments[0].sets"));
  EXPECT_THAT(hints, ElementsAre(HasSubstr("'base'"), HasSubstr("'set'")));
}

TEST(LabFile, AnUnknownExpectationHasItsPlace) {
  const auto problems = Problems(Lab(R"({"name": "a", "expect": "oom"})"));
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].path, "experiments[0].expect");
  EXPECT_THAT(problems[0].hint, HasSubstr("'OOM'"));
}

TEST(LabFile, HalfALabIsNoJob) {
  EXPECT_EQ(Problems(R"({"base": {}})").at(0).path, "experiments");
  EXPECT_EQ(Problems(R"({"experiments": []})").at(0).path, "base");
  EXPECT_EQ(Problems(R"({"base": 1, "experiments": {}})").size(), 2u);
  EXPECT_THAT(Problems(Lab("")).at(0).expected, HasSubstr("1 to 256"));
  EXPECT_THAT(Problems(Lab("1")).at(0).expected, HasSubstr("an object"));
}

TEST(LabFile, ANoteThatAllShareIsSaidOnce) {
  const ReadJob read =
      Read(Lab(R"({"name": "a", "set": {"optimizer.momentum": 0.5}}, {"name": "b"})"));
  EXPECT_THAT(read.notes,
              testing::UnorderedElementsAre(HasSubstr("a: optimizer.momentum has no effect"),
                                            "nothing is kept: output.dir is null"));
}

}  // namespace
}  // namespace trainctl::job
