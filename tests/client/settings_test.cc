// The settings that describe shows: what is in force, also where the job file names nothing.
#include <gmock/gmock.h>

#include "common/estimate/memory_estimate.h"
#include "tests/client/submit_fixture.h"

namespace trainctl::client {
namespace {

using ::testing::ContainsRegex;

TEST_F(SubmitTest, ADescriptionNamesTheTargetsOfLoraThatAreInForce) {
  v1::JobView job;
  job.set_id("j1");
  job.set_name("tiny");
  coordinator_.jobs = {job};
  v1::JobDetail& detail = coordinator_.details["j1"];
  detail.set_job_json(R"({"version": 1, "name": "tiny", "model": {"path": "/m"}, "lora": {},
    "data": {"path": "/d"}, "train": {"micro_batch_size": 1}})");
  EXPECT_THAT(Trainctl({"describe", "j1"}).out, ContainsRegex("lora.targets +all linear layers\n"))
      << "nobody has looked at the model yet";
  detail.set_inspection_json(job::ToJson(SmallModel(100)));
  EXPECT_THAT(Trainctl({"describe", "j1"}).out,
              ContainsRegex("lora.targets +q,k,v,o,gate,up,down"));
  EXPECT_THAT(Trainctl({"describe", "j1", "-o", "md"}).out,
              ContainsRegex("lora.targets +\\| q,k,v,o,gate,up,down"));
  const Json json = Json::parse(Trainctl({"describe", "j1", "-o", "json"}).out);
  EXPECT_EQ(json["jobs"][0]["job"]["lora"]["targets"],
            Json({"q", "k", "v", "o", "gate", "up", "down", "head"}))
      << "so the dashboard shows";
}

}  // namespace
}  // namespace trainctl::client
