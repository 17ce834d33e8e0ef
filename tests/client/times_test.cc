// Times in texts are local and of one form; records have seconds since the epoch.
#include <gmock/gmock.h>

#include "client/show/calendar_time.h"
#include "client/show/output.h"
#include "tests/client/client_test.h"
#include "tests/client/scratch_folder.h"
#include "tests/client/time_zone.h"

namespace trainctl::client {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int64_t kAt = 1'796'133'605 * int64_t{1'000'000};  // 2026-12-01 14:00:05 UTC
constexpr const char* kLocalAt = "2026-12-01 15:30:05 TST";

// Texts with times of what happened.
const std::vector<std::vector<std::string>> kTexts = {{"describe", "j1"},
                                                      {"describe", "j1", "-o", "md"},
                                                      {"explain", "j1"},
                                                      {"artifacts", "ls", "j1"},
                                                      {"admin", "audit"}};

class TimesTest : public ClientTest {
 protected:
  TimesTest() {
    v1::JobView& job = coordinator_.jobs.emplace_back(FinishedJob("j1", "tiny", "FAILED"));
    job.set_submitted_at(kAt);
    job.set_started_at(kAt);
    job.set_ended_at(kAt);
    job.set_message("rank 0 was not heard of since 2026-12-01 14:00:05 UTC");
    v1::JobDetail& detail = coordinator_.details["j1"];
    v1::JobEvent& event = *detail.add_events();
    event.set_time(kAt);
    event.set_text("submitted");
    v1::Artifact& artifact = *detail.add_artifacts();
    artifact.set_kind("final");
    artifact.set_path("/out/tiny");
    artifact.set_time(kAt);
    v1::AuditResponse audit;
    audit.add_entries()->set_time(kAt);
    coordinator_.audit = audit;
    clock_.Advance(kAt - clock_.Wall());
  }

  TimeZone zone_{"TST-1:30"};
};

TEST_F(TimesTest, ATextHasThemInLocalTimeWithItsZone) {
  for (const std::vector<std::string>& words : kTexts) {
    const std::string text = Trainctl(words).out;
    EXPECT_THAT(text, HasSubstr(kLocalAt)) << words.front();
    EXPECT_THAT(text, Not(HasSubstr("UTC"))) << words.front();
  }
  const std::string top = Trainctl({"top", "-1"}).out;
  EXPECT_THAT(top, HasSubstr("15:30:05 ·"));
  EXPECT_THAT(top, Not(HasSubstr(" UTC")));
}

TEST_F(TimesTest, WhatHappenedOnAFullMinuteHasItsSeconds) {
  constexpr int64_t kMinute = kAt - 5'000'000;
  coordinator_.jobs[0].set_submitted_at(kMinute);
  coordinator_.jobs[0].set_ended_at(kMinute);
  coordinator_.details["j1"].mutable_events(0)->set_time(kMinute);
  coordinator_.details["j1"].mutable_artifacts(0)->set_time(kMinute);
  coordinator_.audit->mutable_entries(0)->set_time(kMinute);
  for (const std::vector<std::string>& words : kTexts) {
    const std::string text = Trainctl(words).out;
    EXPECT_THAT(text, HasSubstr("2026-12-01 15:30:00 TST")) << words.front();
    EXPECT_THAT(text, Not(HasSubstr("15:30 TST"))) << words.front();
  }
}

TEST_F(TimesTest, AFileForPeopleHasThemTheSame) {
  coordinator_.comparison.add_jobs()->set_id("j1");
  const ScratchFolder folder;
  EXPECT_EQ(Trainctl({"report", "j1", "-o", folder / "report.md"}).code, 0);
  EXPECT_EQ(Trainctl({"export", "j1", folder / "export"}).code, 0);
  for (const char* file : {"report.md", "export/README.md", "export/report.md"}) {
    EXPECT_THAT(folder.Read(file), HasSubstr(kLocalAt)) << file;
    EXPECT_THAT(folder.Read(file), Not(HasSubstr("UTC"))) << file;
  }
}

TEST_F(TimesTest, ARecordHasSecondsSinceTheEpoch) {
  const Json job = Json::parse(Trainctl({"describe", "j1", "-o", "json"}).out)["jobs"][0];
  EXPECT_EQ(job["submitted_at"], 1'796'133'605.0);
  EXPECT_EQ(job["message"], "rank 0 was not heard of since 2026-12-01 14:00:05 UTC");
}

TEST_F(TimesTest, SecondsAreToldWhereThereAreSome) {
  EXPECT_EQ(LocalTime(kAt), kLocalAt);
  EXPECT_EQ(LocalTime(kAt - 5'000'000), "2026-12-01 15:30 TST");
  EXPECT_EQ(LocalMoment(kAt - 5'000'000), "2026-12-01 15:30:00 TST");
  EXPECT_EQ(InLocalTime("from 2026-12-01 14:00:00 UTC to 2026-12-01 15:00 UTC"),
            "from 2026-12-01 15:30:00 TST to 2026-12-01 16:30 TST");
  EXPECT_EQ(UtcTime(kAt), "2026-12-01 14:00:05 UTC");
  EXPECT_EQ(LocalMinute(kAt) + " " + LocalSecond(kAt), "15:30 15:30:05");
  zone_.Set("GMT0");
  EXPECT_EQ(LocalTime(kAt), "2026-12-01 14:00:05 UTC");
}

}  // namespace
}  // namespace trainctl::client
