// trainctl advise: whose devices its ways are for.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/client/advise_test.h"

namespace trainctl::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// By the reason.
Json DevicesLeftOut(const Json& ways) {
  Json devices = Json::object();
  for (const Json& one : ways["left_out"]) {
    if (one.contains("devices")) devices[one["reason"].get<std::string>()] = one["devices"];
  }
  return devices;
}

// Of all that fit: `ways` has all.
std::string WaysOn(Json ways, int64_t devices) {
  const auto on = [&](const Json& way) { return way["devices"] == devices; };
  return std::to_string(std::ranges::count_if(ways["ways"], on));
}

TEST_F(AdviseTest, CountsNoDevicesOfHostsThatDoNotLetTheJobRun) {
  coordinator_.workers[1].set_host("beta");
  coordinator_.workers[1].mutable_rules()->add_read_roots("/elsewhere");
  const Ended ended = Trainctl({"advise", File()});
  EXPECT_EQ(ended.code, kExitOk) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("tiny on 1 × NVIDIA H200 (139.00 GiB): "));
  const std::string why =
      "not on beta: model.path: /models/tiny lies outside of what this job may read here: "
      "/elsewhere";
  EXPECT_THAT(ended.out, HasSubstr("\nLeft out, 1 device: " + why + ".\n"));
  const Json ways = Ways({"advise", File(), "--all"});
  EXPECT_EQ(ways["devices"], 1);
  EXPECT_EQ(DevicesLeftOut(ways), Json({{why, 1}}));
  for (const Json& way : ways["ways"]) EXPECT_EQ(way["devices"], 1) << way.dump();
  coordinator_.workers[0].set_bars("its worker runs jobs of bob only");
  coordinator_.workers[1].set_bars("its worker runs jobs of bob only");
  const Ended none = Trainctl({"advise", File()});
  EXPECT_NE(none.code, kExitOk);
  EXPECT_THAT(none.err, HasSubstr("no device of this site can run the job: 2 not on alpha and 1 "
                                  "other host: its worker runs jobs of bob only"));
}

// Ways on more devices than are linked as the job asks are left out, with the reason.
TEST_F(AdviseTest, OffersNoWayWhoseDevicesAreNotLinkedAsTheJobAsks) {
  const std::vector<std::string> linked = {"advise", File(), "--all", "--resources.constraints",
                                           R"({"gpu.links": "=NVLink"})"};
  const auto most = [&] {
    int64_t devices = 0;
    const Json ways = Ways(linked);
    for (const Json& way : ways["ways"]) devices = std::max(devices, way["devices"].get<int64_t>());
    return devices;
  };
  EXPECT_EQ(most(), 1);
  EXPECT_THAT(Ways(linked)["left_out"].dump(),
              HasSubstr("gpu.links: the site has no 2 devices linked so"));
  for (int i : {0, 1}) {
    v1::Device& device = *coordinator_.workers[static_cast<size_t>(i)].mutable_device();
    device.set_uuid("GPU-" + std::to_string(i));
    (*device.mutable_links())["GPU-" + std::to_string(1 - i)] = "NVLink";
  }
  EXPECT_EQ(most(), 2);
}

// As submit places it: on equal devices, of whichever model there are enough of.
TEST_F(AdviseTest, OfSeveralModelsItIsTheLargestWithAsManyDevicesAsTheJobAsksFor) {
  for (const char* name : {"beta/0", "beta/1", "beta/2", "beta/3"}) {
    v1::WorkerView& worker = coordinator_.workers.emplace_back(coordinator_.workers[0]);
    worker.set_name(name);
    worker.set_host("beta");
    worker.mutable_device()->set_name("NVIDIA A100");
    worker.mutable_device()->set_memory_bytes(int64_t{80} << 30);
  }
  const auto why = [](const std::string& model) {
    return "another model; resources.constraints \"gpu.name\": \"=" + model + "\" names it";
  };
  const std::string why_not_h200 = "NVIDIA H200 (139.00 GiB): " + why("NVIDIA H200");
  const Json of_four = Ways({"advise", File(), "--devices", "4"});
  EXPECT_EQ(of_four["device"], "NVIDIA A100");
  EXPECT_EQ(of_four["devices"], 4);
  EXPECT_EQ(of_four["as_asked"]["refused"], nullptr);
  EXPECT_EQ(DevicesLeftOut(of_four), Json({{why_not_h200, 2}}));
  EXPECT_THAT(Trainctl({"advise", File(), "--devices", "4"}).out,
              HasSubstr("\nLeft out, 2 devices: " + why_not_h200 + ".\n"));
  const Json of_two = Ways({"advise", File(), "--devices", "2"});
  EXPECT_EQ(of_two["device"], "NVIDIA H200");
  EXPECT_EQ(DevicesLeftOut(of_two), Json({{"NVIDIA A100 (80.00 GiB): " + why("NVIDIA A100"), 4}}));
  const Json named = Ways({"advise", File(), "--devices", "2", "--resources.constraints",
                           R"({"gpu.name": "=NVIDIA A100"})"});
  EXPECT_EQ(named["device"], "NVIDIA A100");
  EXPECT_EQ(DevicesLeftOut(named), Json::object());
  const std::vector<std::string> too_many = {
      "advise", File(), "--all", "--devices", "8", "--train.global_batch_size", "16"};
  const Json few = Ways(too_many);
  EXPECT_EQ(few["device"], "NVIDIA H200");
  EXPECT_EQ(few["as_asked"]["refused"],
            "it needs 8 devices of one model, and there are 2 × NVIDIA H200 (139.00 GiB) and "
            "4 × NVIDIA A100 (80.00 GiB); of the first 2 are enough for " +
                WaysOn(few, 2) + " ways, 1 for " + WaysOn(few, 1));
}

TEST_F(AdviseTest, WhereThereAreTooFewDevicesTheWaysOnFewerAreOffered) {
  const std::vector<std::string> too_many = {
      "advise", File(), "--all", "--devices", "4", "--train.global_batch_size", "16"};
  const Json ways = Ways(too_many);
  const std::string why =
      "it needs 4 devices, and there are 2 × NVIDIA H200 (139.00 GiB); 2 are "
      "enough for " +
      WaysOn(ways, 2) + " ways, 1 for " + WaysOn(ways, 1);
  EXPECT_EQ(ways["as_asked"]["refused"], why);
  EXPECT_THAT(Trainctl(too_many).out, HasSubstr("\nAs the file has it: " + why + ".\n"));
  for (v1::WorkerView& worker : coordinator_.workers)
    worker.mutable_device()->set_memory_bytes(int64_t{1} << 20);
  const Json none = Ways(too_many);
  EXPECT_EQ(none["as_asked"]["refused"],
            "it needs 4 devices, and there are 2 × NVIDIA H200 (1.00 MiB); no way fits these");
  EXPECT_TRUE(none["ways"].empty());
}

TEST_F(AdviseTest, DevicesThatTheJobCannotHaveAreNotCounted) {
  for (const char* state : {"LOST", "BAD", "SUSPECT", "DRAINED"}) {
    coordinator_.workers[1].set_state(state);
    const Json ways = Ways({"advise", File(), "--all"});
    EXPECT_EQ(ways["devices"], 1) << state;
    EXPECT_EQ(DevicesLeftOut(ways), Json({{state, 1}}));
    for (const Json& way : ways["ways"]) EXPECT_EQ(way["devices"], 1) << state;
    EXPECT_THAT(Trainctl({"advise", File()}).out,
                HasSubstr("\nLeft out, 1 device: " + std::string(state) + ".\n"));
  }
  coordinator_.workers[1].set_state("BUSY");
  EXPECT_EQ(Ways({"advise", File()})["devices"], 2) << "its job ends";
  coordinator_.workers[1].mutable_drain()->set_user("ann");
  EXPECT_EQ(DevicesLeftOut(Ways({"advise", File()})), Json({{"DRAINED", 1}}));
  coordinator_.workers[0].set_state("LOST");
  EXPECT_THAT(Trainctl({"advise", File()}).err,
              HasSubstr("no device of this site can run the job: 1 DRAINED, 1 LOST"));
}

// As submit would refuse it; each reason is the same in text, records and picture.
TEST_F(AdviseTest, OffersNoWayOnMoreDevicesThanThePolicyLetsTheUserHave) {
  v1::UserPolicy& policy = coordinator_.policy.emplace();
  policy.set_user("ann");
  policy.set_max_running_devices(1);
  policy.set_max_priority(100);
  coordinator_.workers.push_back(coordinator_.workers[1]);
  coordinator_.workers[2].set_state("LOST");
  const Json ways = Ways({"advise", File(), "--all"});
  ASSERT_FALSE(ways["ways"].empty());
  for (const Json& way : ways["ways"]) EXPECT_EQ(way["devices"], 1) << way.dump();
  EXPECT_EQ(ways["as_asked"]["refused"], nullptr);
  const std::string out = Trainctl({"advise", File()}).out;
  const std::string svg = Trainctl({"advise", File(), "-o", "svg"}).out;
  ASSERT_EQ(ways["left_out"].size(), 3u) << ways["left_out"].dump(1);
  EXPECT_THAT(ways["left_out"].dump(), HasSubstr("one user may have at once"));
  for (const Json& one : ways["left_out"]) {
    const bool of_ways = one.contains("ways");
    const int64_t count = one[of_ways ? "ways" : "devices"];
    const std::string line = "Left out, " + std::to_string(count) + (of_ways ? " way" : " device") +
                             (count == 1 ? "" : "s") + ": " + one["reason"].get<std::string>();
    EXPECT_THAT(out, HasSubstr("\n" + line + ".\n"));
    EXPECT_THAT(svg, HasSubstr(">" + line.substr(0, 60)));
  }
  const Ended ended = Trainctl({"advise", File(), "--devices", "2"});
  EXPECT_THAT(ended.out, HasSubstr("As the file has it: devices: expected at most 1, all that one "
                                   "user may have at once; this site's policy for ann.\n"));
}

TEST_F(AdviseTest, AJobUnderALeaseHasItsDevicesAlone) {
  v1::Lease& lease = *coordinator_.leases.add_leases();
  lease.set_name("lab");
  lease.add_workers("alpha/1");
  EXPECT_EQ(Ways({"advise", File()})["devices"], 2) << "the job names no lease";
  const std::vector<std::string> under = {"advise", File(), "--resources.lease", "lab"};
  const Json ways = Ways(under);
  EXPECT_EQ(ways["devices"], 1);
  EXPECT_EQ(DevicesLeftOut(ways), Json({{"not of lease lab", 1}}));
  EXPECT_THAT(Trainctl(under).out, HasSubstr("\nLeft out, 1 device: not of lease lab.\n"));
  EXPECT_THAT(Trainctl({"advise", File(), "--resources.lease", "other"}).err,
              HasSubstr("resources.lease: 'other': expected a lease that is not over"));
}

}  // namespace
}  // namespace trainctl::client
