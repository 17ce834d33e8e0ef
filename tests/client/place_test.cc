// Where a dry run says that a job would run: by the rules of hosts, and by leases.
#include "client/submit/place.h"

#include <gmock/gmock.h>

#include "client/exit_code.h"
#include "client/submit/reach.h"
#include "tests/client/submit_fixture.h"
#include "tests/job/valid_job.h"

namespace trainctl::client {
namespace {

using testing::HasSubstr;

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kNow = 1'796'133'600 * kSecond;  // 2026-12-01 14:00 UTC

class PlaceTest : public SubmitTest {
 protected:
  PlaceTest() {
    coordinator_.workers = {Slot("a/0"), Slot("b/0")};
    coordinator_.leases.set_now(kNow);
    coordinator_.leases.set_grace_us(30 * kSecond);
  }

  static v1::WorkerView Slot(const std::string& name, const char* state = "READY") {
    v1::WorkerView worker = CpuWorker(name, state);
    worker.set_host(name.substr(0, name.find('/')));
    return worker;
  }
  // Only what lies below the folder may be read there.
  void Bound(int worker, const std::string& folder) {
    coordinator_.workers[static_cast<size_t>(worker)].mutable_rules()->add_read_roots(folder);
  }
  void Lease(const std::string& name, int64_t start_s, int64_t end_s,
             const std::vector<std::string>& workers) {
    v1::Lease& lease = *coordinator_.leases.add_leases();
    lease.set_name(name);
    lease.set_owner("ann");
    lease.set_state(start_s > 0 ? "UPCOMING" : "ACTIVE");
    lease.set_start(kNow + start_s * kSecond);
    lease.set_end(kNow + end_s * kSecond);
    for (const std::string& worker : workers) lease.add_workers(worker);
  }
  Ended DryRun(std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"submit", File("tiny.json", kJob), "--dry-run"};
    words.insert(words.end(), more.begin(), more.end());
    return Trainctl(words);
  }
};

TEST_F(PlaceTest, AGangThatAsksForLinksGetsDevicesThatAreLinkedSo) {
  coordinator_.workers = {Slot("a/0"), Slot("a/1"), Slot("a/2")};
  for (v1::WorkerView& worker : coordinator_.workers) {
    worker.mutable_device()->set_kind("cuda");
    worker.mutable_device()->set_uuid(worker.name());
    worker.mutable_device()->set_compute_capability("9.0");
  }
  for (const int i : {0, 2}) {
    const char* other = i == 0 ? "a/2" : "a/0";
    (*coordinator_.workers[static_cast<size_t>(i)].mutable_device()->mutable_links())[other] =
        "NVLink";
  }
  const std::vector<std::string> linked = {"--devices", "2", "--resources.constraints",
                                           R"({"gpu.links": "=NVLink"})"};
  EXPECT_THAT(DryRun(linked).out, HasSubstr("where   a/0, a/2 ("));
  coordinator_.workers[2].set_state("BUSY");
  EXPECT_THAT(DryRun(linked).out, HasSubstr("waits: 1 of the 2 devices it needs are free now"));
}

TEST_F(PlaceTest, AHostThatDoesNotLetTheJobReadIsLeftOutAndSaid) {
  Bound(0, "/elsewhere");
  const Ended ended = DryRun();
  EXPECT_EQ(ended.code, kExitOk) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("where   b/0 (CPU slot (1 thread)), free now; not on a: "
                                   "model.path: /models/tiny lies outside of what this job may "
                                   "read here: /elsewhere\n"));
  const Json record = Json::parse(DryRun({"-o", "json"}).out)["jobs"][0];
  EXPECT_EQ(record["would_run_on"], Json::array({"b/0"}));
  EXPECT_THAT(record["not_on"].get<std::string>(), HasSubstr("a: model.path"));
}

TEST_F(PlaceTest, AGangThatTheOtherHostsAreTooFewForWouldBeRefused) {
  Bound(0, "/elsewhere");
  const Ended ended = DryRun({"--devices", "2"});
  EXPECT_EQ(ended.code, kExitWouldNotRun) << ended.out;
  EXPECT_THAT(ended.out,
              HasSubstr("would be refused here: tiny: devices: 2: expected at most 1: this site "
                        "has no more devices; other hosts have them, and their workers keep it "
                        "out (trainworker --read-root, --write-root, --allow-user); not on a: "));
}

TEST_F(PlaceTest, WhoseJobsRunNowhereIsToldSo) {
  for (v1::WorkerView& worker : coordinator_.workers)
    worker.set_bars(
        "jobs of bob don't run on this host: its trainworker --allow-user names others");
  const Ended ended = DryRun();
  EXPECT_EQ(ended.code, kExitWouldNotRun) << ended.out;
  EXPECT_THAT(ended.out, HasSubstr("a worker of the site that lets this user's jobs run; not on "
                                   "a: jobs of bob don't run on this host"));
  EXPECT_THAT(ended.out, HasSubstr("; nor on 1 other host"));
}

// A path that lies in no root by its name may be a link: the host has looked, at inspection.
TEST_F(PlaceTest, WhereNoHostHasThePathByNameEachIsTried) {
  Bound(0, "/elsewhere");
  Bound(1, "/elsewhere");
  const Ended ended = DryRun({"--devices", "2"});
  EXPECT_EQ(ended.code, kExitOk) << ended.out;
  EXPECT_THAT(ended.out, HasSubstr("where   a/0, b/0 (CPU slot (1 thread)), free now\n"));
}

TEST_F(PlaceTest, RulesOfAHostThatWasNotAskedForBarNobody) {
  job::JobSpec job = job::SmallestJob();
  job.resources.constraints = {{"host", "=a"}};
  SiteWorker a, b;
  a.device.host = "a";
  b.device.host = "b";
  a.rules.roots.read = b.rules.roots.read = {"/elsewhere"};
  EXPECT_EQ(FindReach(job, {a, b}).barred, "");
  b.rules = {};
  EXPECT_EQ(FindReach(job, {a, b}).workers.size(), 2u) << "a is tried: it is the only one";
  EXPECT_EQ(FindReach(job::SmallestJob(), {a, b}).workers.size(), 1u);
}

TEST_F(PlaceTest, ALeaseThatHasTheDevicesIsNamed) {
  coordinator_.workers = {Slot("a/0", "LEASED"), Slot("b/0", "BUSY")};
  Lease("lab", -3600, 7200, {"a/0", "b/0"});
  EXPECT_THAT(DryRun().out,
              HasSubstr("where   waits: 0 of the 1 device it needs are free now, 2 devices would "
                        "do (CPU slot (1 thread)); lease 'lab' of ann has 2 of them until "
                        "2026-12-01 16:00 UTC\n"));
  coordinator_.workers = {Slot("a/0", "LEASED"), Slot("b/0")};
  coordinator_.leases.mutable_leases(0)->mutable_workers()->RemoveLast();
  EXPECT_THAT(DryRun().out, HasSubstr("where   b/0 (CPU slot (1 thread)), free now\n"));
}

TEST_F(PlaceTest, ALeaseThatWantsThemBeforeTheJobWouldEndIsNamed) {
  Lease("lab", 1800, 7200, {"a/0", "b/0"});
  EXPECT_THAT(DryRun().out, HasSubstr("free now\n")) << "it takes ten seconds";
  EXPECT_THAT(
      DryRun({"--resources.time_limit", "1h"}).out,
      HasSubstr("waits: 0 of the 1 device it needs are free now, 2 devices would do (CPU "
                "slot (1 thread)); lease 'lab' of ann wants 2 of them from 2026-12-01 14:30 "
                "UTC, before this job would end\n"));
}

TEST_F(PlaceTest, AJobOfALeaseThatHasNotBegunWaitsForIt) {
  Lease("lab", 5400, 9000, {"b/0"});
  const Ended ended = DryRun({"--within", "lab"});
  EXPECT_EQ(ended.code, kExitOk) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("where   waits for lease 'lab' of ann, which begins 2026-12-01 "
                                   "15:30 UTC (in 1 h 30 min); then b/0 (CPU slot (1 thread))\n"));
  EXPECT_THAT(Json::parse(DryRun({"--within", "lab", "-o", "json"}).out)["lease"]["state"],
              "UPCOMING");
}

TEST_F(PlaceTest, AJobOfALeaseThatIsActiveHasItsDevices) {
  coordinator_.workers = {Slot("a/0"), Slot("b/0", "LEASED")};
  Lease("lab", -60, 7200, {"b/0"});
  EXPECT_THAT(DryRun({"--within", "lab"}).out,
              HasSubstr("where   b/0 (CPU slot (1 thread)), free now\n"));
}

TEST_F(PlaceTest, AJobThatItsLeaseIsTooSmallForWouldBeRefused) {
  Lease("lab", -60, 7200, {"b/0"});
  const Ended ended = DryRun({"--within", "lab", "--devices", "2"});
  EXPECT_EQ(ended.code, kExitWouldNotRun) << ended.out;
  EXPECT_THAT(ended.out, HasSubstr("lease 'lab' of ann has 1 device, the job wants 2"));
}

// Two GPUs that are linked, and one of another model that is not.
class LeasedGpus : public PlaceTest {
 protected:
  LeasedGpus() {
    coordinator_.workers = {Gpu("a/0", "NVIDIA H200", 140), Gpu("a/1", "NVIDIA H200", 140),
                            Gpu("b/0", "NVIDIA A40", 48), Gpu("a/2", "NVIDIA H200", 140)};
    Link(0, 3);
    Link(3, 0);
  }

  static v1::WorkerView Gpu(const std::string& name, const char* model, int64_t gib) {
    v1::WorkerView worker = Slot(name);
    v1::Device& device = *worker.mutable_device();
    device.set_kind("cuda");
    device.set_name(model);
    device.set_uuid(name);
    device.set_memory_bytes(gib << 30);
    device.set_compute_capability("8.6");
    return worker;
  }
  void Link(size_t from, size_t to) {
    (*coordinator_.workers[from]
          .mutable_device()
          ->mutable_links())[coordinator_.workers[to].name()] = "NVLink";
  }
  Ended Refused(std::vector<std::string> more) {
    more.insert(more.begin(), {"--within", "lab"});
    const Ended ended = DryRun(more);
    EXPECT_EQ(ended.code, kExitWouldNotRun) << ended.out << ended.err;
    more.insert(more.begin(), {"submit", folder_ + "/tiny.json"});
    EXPECT_EQ(Trainctl(more).code, kExitUsage);
    EXPECT_TRUE(coordinator_.submissions.empty());
    return ended;
  }
};

TEST_F(LeasedGpus, AnAutomaticMicroBatchIsThatOfTheLeasesModel) {
  Lease("lab", -60, 7200, {"b/0"});
  const std::vector<std::string> words = {"--train.micro_batch_size", "auto"};
  EXPECT_THAT(DryRun(words).out, HasSubstr(" of 140.00 GiB"));
  const std::string leased = DryRun({"--train.micro_batch_size", "auto", "--within", "lab"}).out;
  EXPECT_THAT(leased, HasSubstr("where   b/0 (NVIDIA A40), free now"));
  EXPECT_THAT(leased, HasSubstr(" of 48.00 GiB"));
  EXPECT_THAT(leased, testing::Not(HasSubstr("H200"))) << "neither its memory nor its rates";
}

TEST_F(LeasedGpus, WhatRemainsOfALabIsReckonedForTheLeasesModel) {
  Lease("lab", -60, 7200, {"b/0"});
  File("my-lab.json", kLab);
  const std::vector<std::string> words = {"recipes", "ls", "my-lab", "--dir", folder_};
  EXPECT_THAT(Trainctl(words).out, HasSubstr("predicted for 2 experiments"));
  std::vector<std::string> within = words;
  within.insert(within.end(), {"--within", "lab"});
  EXPECT_THAT(Trainctl(within).out, HasSubstr("not predicted")) << "nothing is known of an A40";
}

TEST_F(LeasedGpus, AJobWhoseConstraintsTheLeaseDoesNotMeetWouldBeRefused) {
  Lease("lab", -60, 7200, {"a/0", "a/1", "b/0"});
  EXPECT_THAT(Refused({"--resources.constraints", R"({"gpu.model": "=H100"})"}).out,
              HasSubstr("this site's GPUs meets"));
  coordinator_.workers[2].mutable_device()->set_name("NVIDIA H100");
  EXPECT_EQ(
      DryRun({"--within", "lab", "--resources.constraints", R"({"gpu.model": "=H100"})"}).code,
      kExitOk);
  coordinator_.leases.mutable_leases(0)->mutable_workers()->RemoveLast();
  EXPECT_THAT(Refused({"--resources.constraints", R"({"gpu.model": "=H100"})"}).out,
              HasSubstr("of it only lease 'lab' of ann counts: a/0, a/1"));
}

TEST_F(LeasedGpus, AJobWhoseLinksTheLeaseDoesNotHaveWouldBeRefused) {
  Lease("lab", -60, 7200, {"a/0", "a/1"});
  const std::vector<std::string> linked = {"--devices", "2", "--resources.constraints",
                                           R"({"gpu.links": "=NVLink"})"};
  EXPECT_EQ(DryRun(linked).code, kExitOk);
  EXPECT_THAT(Refused(linked).out, HasSubstr("of it only lease 'lab' of ann counts: a/0, a/1"));
}

TEST_F(LeasedGpus, AnExclusiveJobWhoseLeaseHasNoWholeHostWouldBeRefused) {
  Lease("lab", -60, 7200, {"a/0", "a/1"});
  EXPECT_THAT(Refused({"--exclusive", "true"}).out,
              HasSubstr("lease 'lab' of ann has no host whole, with all its devices, for a job"));
  coordinator_.leases.mutable_leases(0)->add_workers("a/2");
  EXPECT_EQ(DryRun({"--within", "lab", "--exclusive", "true"}).code, kExitOk);
}

}  // namespace
}  // namespace trainctl::client
