// The published schema says the same as the reader, wherever a schema can: types, ranges, names,
// required and unknown keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "common/job/job_json.h"
#include "common/job/schema.h"
#include "common/json/write_json.h"
#include "tests/job/json_schema_validator.h"
#include "tests/job/random_job.h"
#include "tests/job/valid_job.h"

namespace trainctl::job {
namespace {

using nlohmann::json;
using testing::IsEmpty;

const json& Schema() {
  static const json schema = json::parse(JsonSchema());
  return schema;
}

std::vector<std::string> FaultsOf(const std::string& text) {
  return Validate(Schema(), json::parse(text));
}

// A job with one key set to a value of JSON text; sections that may be null are there.
std::string JobWith(const std::string& key, const json& value) {
  JobSpec job = SmallestJob();
  job.lora.emplace();
  job.profile.emplace();
  json root = json::parse(ToJson(job));
  const size_t dot = key.find('.');
  if (dot == std::string::npos)
    root[key] = value;
  else
    root[key.substr(0, dot)][key.substr(dot + 1)] = value;
  return root.dump();
}

TEST(PublishedSchema, AcceptsTheSmallestJob) { EXPECT_THAT(FaultsOf(kSmallestJob), IsEmpty()); }

RC_GTEST_PROP(PublishedSchema, AcceptsEveryCanonicalJob, ()) {
  const std::string text = ToJson(*RandomJob());
  RC_ASSERT(FaultsOf(text).empty());
}

TEST(PublishedSchema, AgreesWithTheReaderOnEveryKeyAndManyValues) {
  const json values = json::parse(R"([null, true, false, -1, 0, 1, 2, 8.0, 0.5, 1.5, 1e300,
    "", "auto", "OOM", "x", "nf4", "bnb.nf4", "80GB", "2h", "90", "80XB",
    [], [0.9, 0.95], [1, 1], ["q"], ["q", "q"], ["x"], {}, {"lab": "2"}, {"lab": 2}, {"": "2"}])");
  for (const Field& field : Fields()) {
    for (const json& value : values) {
      const std::string text = JobWith(field.key, value);
      EXPECT_EQ(FaultsOf(text).empty(), FromJson(text).ok()) << field.key << " = " << value;
    }
  }
}

TEST(PublishedSchema, RefusesUnknownAndMissingKeys) {
  EXPECT_THAT(FaultsOf(JobWith("devises", 1)),
              testing::ElementsAre("/devises: additionalProperties"));
  EXPECT_THAT(FaultsOf(JobWith("train.epoch", 1)),
              testing::ElementsAre("/train/epoch: additionalProperties"));
  EXPECT_THAT(FaultsOf(R"({"version": 1, "model": {}, "data": {"path": "d"}})"),
              testing::UnorderedElementsAre("/model/path: required", "/train: required"));
}

TEST(PublishedSchema, KnowsLabFiles) {
  const std::string base = R"({"base": {"version": 1, "model": {"path": "m"}}, "experiments": )";
  constexpr char kSet[] =
      R"([{"name": "a", "set": {"train": {"epochs": 2}, "train.max_steps": 3, "tags.lab": "2"}, "expect": "OOM"}]})";
  EXPECT_THAT(FaultsOf(base + kSet), IsEmpty());
  EXPECT_THAT(FaultsOf(base + R"([{"name": "a", "set": {"train.max_step": 3}}]})"),
              testing::Not(IsEmpty()));
  EXPECT_THAT(FaultsOf(base + R"([{"set": {}}]})"),
              testing::ElementsAre("/experiments/0/name: required"));
  EXPECT_THAT(FaultsOf(base + "[]}"), testing::ElementsAre("/experiments: minItems"));
  EXPECT_THAT(FaultsOf(R"({"experiments": [{"name": "a"}]})"),
              testing::ElementsAre("/base: required"));
}

TEST(PublishedSchema, TellsEveryKeysMeaningAndDefault) {
  for (const Field& field : Fields()) {
    EXPECT_FALSE(field.doc.empty()) << field.key;
    EXPECT_EQ(field.doc.back(), '.') << field.key;
  }
  const json& train = Schema()["$defs"]["settings"]["properties"]["train"]["properties"];
  EXPECT_EQ(train["epochs"]["default"], 1);
  EXPECT_FALSE(train["micro_batch_size"].contains("default"));
}

}  // namespace
}  // namespace trainctl::job
