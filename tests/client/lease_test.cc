#include "client/exit_code.h"
#include "client/show/calendar_time.h"
#include "client/show/output.h"
#include "common/job/job_json.h"
#include "tests/client/submit_fixture.h"
#include "tests/client/time_zone.h"

namespace trainctl::client {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kStart = 1'796'133'600 * kSecond;  // 2026-12-01 14:00 UTC

// Of a zone of our own, without a database of zones: an hour and a half east.
class LeaseTest : public SubmitTest {
 protected:
  LeaseTest() { coordinator_.workers = {CpuWorker("a/0", "READY"), CpuWorker("a/1", "READY")}; }

  TimeZone zone_{"TST-1:30"};
};

TEST_F(LeaseTest, TimesAreLocalUnlessTheySayUtcAndAreToldAsBoth) {
  EXPECT_EQ(*ParseCalendarTime("2026-12-01 14:00 UTC"), kStart);
  EXPECT_EQ(*ParseCalendarTime("2026-12-01T14:00Z"), kStart);
  EXPECT_EQ(*ParseCalendarTime("2026-12-01 15:30"), kStart);
  EXPECT_EQ(LocalAndUtc(kStart), "2026-12-01 15:30 TST (14:00 UTC)");
  EXPECT_EQ(LocalAndUtc(kStart + 10 * 3600 * kSecond + 5 * kSecond),
            "2026-12-02 01:30:05 TST (00:00:05 UTC)");
  EXPECT_EQ(LocalAndUtc(kStart + 9 * 3600 * kSecond),
            "2026-12-02 00:30 TST (2026-12-01 23:00 UTC)");
  zone_.Set("UTC0");
  EXPECT_EQ(LocalAndUtc(kStart), "2026-12-01 14:00 UTC");
}

TEST_F(LeaseTest, TimesInTheCoordinatorsWordsAreToldInLocalTime) {
  EXPECT_EQ(InLocalTime("lease 'l' (2026-12-01 14:00 UTC to 2026-12-01 14:00:05 UTC) of 2026"),
            "lease 'l' (2026-12-01 15:30 TST to 2026-12-01 15:30:05 TST) of 2026");
  const std::string told = LocalAndUtc(kStart + 9 * 3600 * kSecond);
  EXPECT_EQ(InLocalTime(told), told) << "once";
  EXPECT_EQ(InLocalTime("2026-13-01 14:00 UTC"), "2026-13-01 14:00 UTC") << "no time";
  EXPECT_EQ(InLocalTime("'2026-12-01 13:00 UTC'"), "'2026-12-01 13:00 UTC'") << "as typed";
  zone_.Set("UTC0");
  EXPECT_EQ(InLocalTime("ends 2026-12-01 14:00 UTC"), "ends 2026-12-01 14:00 UTC");
}

TEST_F(LeaseTest, WhatIsNoTimeIsRefused) {
  for (const char* text : {"", "tomorrow", "2026-13-01 14:00", "2026-02-30 14:00", "2026-12-01",
                           "2026-12-01 14:00 CET", "2026-12-01 25:00", "0001-12-01 14:00"})
    EXPECT_FALSE(ParseCalendarTime(text)) << text;
}

TEST_F(LeaseTest, ATimeThatComesNotOrTwiceAsClocksAreSetIsRefusedWithWhy) {
  zone_.Set("CET-1CEST,M3.5.0,M10.5.0/3");
  EXPECT_EQ(ParseCalendarTime("2027-03-28 02:30").error().message,
            "'2027-03-28 02:30' is no time here: the clocks are set forward over it that day");
  EXPECT_EQ(
      ParseCalendarTime("2027-10-31 02:30").error().message,
      "'2027-10-31 02:30' comes twice here, as the clocks are set back: say '2027-10-31 00:30 "
      "UTC' or '2027-10-31 01:30 UTC'");
  EXPECT_EQ(LocalTime(*ParseCalendarTime("2027-10-31 01:30")), "2027-10-31 01:30 CEST");
  EXPECT_EQ(LocalTime(*ParseCalendarTime("2027-10-31 03:30")), "2027-10-31 03:30 CET");
  EXPECT_EQ(LocalTime(*ParseCalendarTime("2027-10-31 01:30 UTC")), "2027-10-31 02:30 CET");
}

TEST_F(LeaseTest, WhereThereAreNoneItIsSaid) {
  EXPECT_EQ(Trainctl({"lease", "ls"}).out, "no leases\n");
  EXPECT_EQ(Trainctl({"lease", "calendar"}).out, "no leases\n");
  EXPECT_EQ(Json::parse(Trainctl({"lease", "ls", "-o", "json"}).out)["leases"], Json::array());
}

TEST_F(LeaseTest, CreateSaysWhichDevicesFromWhenToWhen) {
  const Ended made = Trainctl(
      {"lease", "create", "lab2", "--gpus", "2", "--start", "2026-12-01 14:00 UTC", "--for", "3h"});
  EXPECT_EQ(made.code, kExitOk);
  EXPECT_EQ(made.out,
            "Leased lab2: 2 devices, a/0 a/1, from 2026-12-01 15:30 TST (14:00 UTC) to 2026-12-01 "
            "18:30 TST (17:00 UTC), 3 h\nIts jobs: trainctl submit job.json --within lab2\n");
  const Json lease = Json::parse(Trainctl({"lease", "ls", "-o", "json"}).out)["leases"][0];
  EXPECT_EQ(lease["name"], "lab2");
  EXPECT_EQ(lease["devices"][1], "a/1");
  EXPECT_EQ(Trainctl({"lease", "calendar"}).out,
            "Tue 2026-12-01, TST (UTC+01:30)\n  15:30–18:30  lab2, ann: a/0 a/1\n");
  const std::string ics = Trainctl({"lease", "calendar", "--ics"}).out;
  EXPECT_NE(ics.find("DTSTART:20261201T140000Z\r\nDTEND:20261201T170000Z\r\n"), std::string::npos)
      << ics;
  EXPECT_NE(ics.find("SUMMARY:lab2: 2 devices of ann\r\n"), std::string::npos) << ics;
}

TEST_F(LeaseTest, ALeaseIsExtendedDescribedAndDeleted) {
  Trainctl(
      {"lease", "create", "lab2", "--gpus", "1", "--start", "2026-12-01 14:00 UTC", "--for", "3h"});
  EXPECT_EQ(Trainctl({"lease", "extend", "lab2", "--for", "1h"}).out,
            "Extended lab2: it ends 2026-12-01 19:30 TST (18:00 UTC)\n");
  EXPECT_NE(Trainctl({"lease", "describe", "lab2"}).out.find("to 2026-12-01 19:30 TST"),
            std::string::npos);
  EXPECT_EQ(Trainctl({"lease", "delete", "lab2"}).out, "Deleted lab2.\n");
  EXPECT_EQ(Trainctl({"lease", "describe", "lab2"}).code, kExitNotFound);
  EXPECT_EQ(Trainctl({"lease", "create", "lab2"}).code, kExitUsage);
  EXPECT_EQ(Trainctl({"lease", "lend"}).code, kExitUsage);
  EXPECT_EQ(Trainctl({"lease", "delete"}).code, kExitUsage);
}

TEST_F(LeaseTest, AnExtensionWhoseAnswerIsLostIsMadeOnce) {
  Trainctl(
      {"lease", "create", "lab2", "--gpus", "1", "--start", "2026-12-01 14:00 UTC", "--for", "3h"});
  coordinator_.lost_answers = 1;
  const Ended longer = Trainctl({"lease", "extend", "lab2", "--for", "1h"});
  EXPECT_EQ(longer.code, kExitOk) << longer.err;
  EXPECT_NE(longer.err.find("trying again"), std::string::npos) << longer.err;
  EXPECT_EQ(longer.out, "Extended lab2: it ends 2026-12-01 19:30 TST (18:00 UTC)\n");
  EXPECT_EQ(Trainctl({"lease", "extend", "other", "--for", "1h"}).code, kExitNotFound);
}

TEST_F(LeaseTest, ADeviceOfALeaseThatNoJobStartsOnIsMarkedAndSaid) {
  Trainctl(
      {"lease", "create", "lab2", "--gpus", "2", "--start", "2026-12-01 14:00 UTC", "--for", "3h"});
  v1::Lease& lease = *coordinator_.leases.mutable_leases(0);
  for (const std::string& worker : lease.workers()) lease.add_devices()->set_worker(worker);
  EXPECT_NE(Trainctl({"lease", "ls"}).out.find("a/0 a/1\n"), std::string::npos);
  lease.mutable_devices(0)->set_trouble("BAD: XID 79 at 2026-12-01 14:00 UTC");
  EXPECT_NE(Trainctl({"lease", "ls"}).out.find("a/0 (BAD) a/1\n"), std::string::npos);
  const std::string described = Trainctl({"lease", "describe", "lab2"}).out;
  EXPECT_NE(described.find("\n  a/0 is BAD: XID 79 at 2026-12-01 15:30 TST\n"), std::string::npos)
      << described;
  EXPECT_EQ(described.find("a/1 is"), std::string::npos) << described;
  const Json record = Json::parse(Trainctl({"lease", "ls", "-o", "json"}).out)["leases"][0];
  EXPECT_EQ(record["trouble"][0]["device"], "a/0");
}

TEST_F(LeaseTest, WhoTakesALeasedDeviceAwayIsToldWhoseItIs) {
  Trainctl(
      {"lease", "create", "lab2", "--gpus", "1", "--start", "2026-12-01 14:00 UTC", "--for", "3h"});
  const std::string note =
      "\nIt is leased:\n  lab2 of ann, from 2026-12-01 15:30 TST (14:00 UTC) to 2026-12-01 18:30 "
      "TST (17:00 UTC), 3 h\n";
  EXPECT_NE(Trainctl({"drain", "a"}).out.find(note), std::string::npos);
  EXPECT_NE(Trainctl({"drain", "a/0"}).out.find(note), std::string::npos);
  EXPECT_EQ(Trainctl({"drain", "a/1"}).out.find("lab2"), std::string::npos);
  EXPECT_NE(Trainctl({"workers", "remove", "a/0"}).out.find(note), std::string::npos);
}

TEST_F(LeaseTest, WhatRemainsOfALabIsHeldAgainstOnesOwnLease) {
  File("my-lab.json", kLab);
  const std::vector<std::string> words = {"recipes", "ls", "my-lab", "--dir", folder_};
  surroundings_.user = "ann";
  EXPECT_EQ(Trainctl(words).out.find("lease"), std::string::npos);
  Trainctl(
      {"lease", "create", "lab2", "--gpus", "1", "--start", "2026-12-01 14:00 UTC", "--for", "3h"});
  const Ended own = Trainctl(words);
  EXPECT_NE(own.out.find("predicted for 2 experiments on 1 device; fits 3 h, which the lease lab2 "
                         "has left for jobs"),
            std::string::npos)
      << own.out << own.err;
  surroundings_.user = "bo";
  EXPECT_EQ(Trainctl(words).out.find("lab2"), std::string::npos) << "it is another's";
  const auto within = [&](const char* what) {
    return Trainctl({"recipes", "ls", "my-lab", "--dir", folder_, "--within", what});
  };
  EXPECT_NE(within("lab2").out.find("which the lease lab2"), std::string::npos);
  EXPECT_NE(within("2h").out.find("fits 2 h"), std::string::npos);
  EXPECT_EQ(within("other").code, kExitNotFound);
  const Ended no_time = within("10m");
  EXPECT_EQ(no_time.code, kExitUsage);
  EXPECT_NE(no_time.err.find("no lease '10m', or it is over: did you mean '10min'? (expected a "
                             "lease, or a time such as 90s, 10min or 2h; "),
            std::string::npos)
      << no_time.err;
}

TEST_F(LeaseTest, SubmitWithinALeaseNamesItAndSaysWhatIsLeft) {
  Trainctl(
      {"lease", "create", "lab2", "--gpus", "1", "--start", "2026-12-01 14:00 UTC", "--for", "3h"});
  const std::string path = File("tiny.json", kJob);
  const Ended submitted = Trainctl({"submit", path, "--within", "lab2"});
  EXPECT_EQ(submitted.code, kExitOk) << submitted.err;
  EXPECT_NE(submitted.err.find("3 h"), std::string::npos) << submitted.err;
  const auto spec = job::FromJson(coordinator_.submissions.at(0).jobs(0).job_json());
  EXPECT_EQ(spec->resources.lease, "lab2");
  EXPECT_EQ(Trainctl({"submit", path, "--within", "other"}).code, kExitNotFound);
}

TEST_F(LeaseTest, WhatEndsWithItsLeaseIsSaidToSaveOnlyWhereItKeepsCheckpoints) {
  Trainctl(
      {"lease", "create", "lab2", "--gpus", "1", "--start", "2026-12-01 14:00 UTC", "--for", "3h"});
  EXPECT_NE(Trainctl({"lease", "describe", "lab2"})
                .out.find("its jobs are stopped 2026-12-01 18:30 TST (17:00 UTC), and save "
                          "where they keep checkpoints\n"),
            std::string::npos);
  const std::string path = File("tiny.json", kJob), note = "what it did is lost if its lease ends";
  const std::vector<std::string> words = {"submit", path, "--within", "lab2"};
  EXPECT_NE(Trainctl(words).err.find(note), std::string::npos);
  std::vector<std::string> saves = words;
  saves.insert(saves.end(), {"--checkpoint.every_steps", "5", "--output.dir", folder_ + "/out"});
  const Ended saved = Trainctl(saves);
  EXPECT_EQ(saved.code, kExitOk) << saved.err;
  EXPECT_EQ(saved.err.find(note), std::string::npos) << saved.err;
}

TEST_F(LeaseTest, ASweepWithinALeaseIsHeldAgainstItBeforeItIsSubmitted) {
  Trainctl(
      {"lease", "create", "lab2", "--gpus", "1", "--start", "2026-12-01 14:00 UTC", "--for", "3h"});
  const std::string path = File("tiny.json", kJob);
  const std::vector<std::string> axis = {"--matrix", "seed=1,2", "--within", "lab2"};
  for (const char* verb : {"submit", "sweep"}) {
    std::vector<std::string> words = {verb, path};
    words.insert(words.end(), axis.begin(), axis.end());
    const Ended swept = Trainctl(words);
    EXPECT_EQ(swept.code, kExitOk) << swept.err;
    EXPECT_NE(swept.err.find("predicted for 2 experiments on 1 device; fits 3 h"),
              std::string::npos)
        << swept.err;
    EXPECT_EQ(swept.out.find("All of it"), std::string::npos) << "it is said once";
  }
  const Ended wide = Trainctl({"submit", path, "--matrix", "devices=1,2", "--within", "lab2"});
  EXPECT_EQ(wide.code, kExitOk) << wide.err;
  EXPECT_NE(wide.err.find("lease 'lab2' of ann has 1 device, the job wants 2"), std::string::npos)
      << wide.err;
  EXPECT_EQ(coordinator_.submissions.back().jobs_size(), 1);
}

}  // namespace
}  // namespace trainctl::client
