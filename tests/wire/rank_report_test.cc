#include "common/wire/rank_report.h"

#include <gmock/gmock.h>
#include <google/protobuf/stubs/logging.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <functional>

#include "common/rank/rank_json.h"
#include "common/wire/rank_key.h"
#include "proto/trainctl.pb.h"
#include "tests/wire/any_message.h"

namespace trainctl::wire {
namespace {

using testing::HasSubstr;

// A valid report with one of the bodies.
v1::RankReport AnyReport() {
  v1::RankReport report;
  Fill(&report);
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      Fill(report.mutable_exit());
      report.mutable_exit()->set_deadline(*rc::gen::element("LEASE_ENDED", "TIMEOUT", "PREEMPTED"));
      break;
    case 1: Fill(report.mutable_launch_failure()); break;
    default:
      report.set_line(job::ToLine(job::RankMessage(job::RankSaved{"final", AnyName(), 3, "r"})));
  }
  return report;
}

RC_GTEST_PROP(RankReport, EveryReportComesBackAsItWas, ()) {
  const v1::RankReport message = AnyReport();
  const auto report = FromWire(message);
  if (!report) RC_FAIL(report.error().message);
  RC_ASSERT(ToWire(*report).SerializeAsString() == message.SerializeAsString());
}

RC_GTEST_PROP(RankReport, ReadingDamagedBytesNeverThrows, (std::string noise)) {
  const google::protobuf::LogSilencer silence;
  std::string bytes = AnyReport().SerializeAsString();
  const size_t at = *rc::gen::inRange<size_t>(0, bytes.size() + 1);
  bytes.replace(at, noise.size(), noise);
  v1::RankReport message;
  if (!message.ParseFromString(bytes)) return;
  const auto report = FromWire(message);
  if (!report) RC_ASSERT(!report.error().message.empty());
}

TEST(RankReport, WhoseItIsMustBeTold) {
  struct Case {
    std::string field;
    std::function<void(v1::RankReport&)> damage;
  };
  const Case cases[] = {
      {"job:", [](auto& r) { r.set_job("12"); }},
      {"attempt:", [](auto& r) { r.set_attempt(0); }},
      {"rank:", [](auto& r) { r.set_rank(-1); }},
      {"rank:", [](auto& r) { r.set_rank(job::kMaxRank + 1); }},
      {"sequence:", [](auto& r) { r.set_sequence(0); }},
  };
  for (const Case& c : cases) {
    v1::RankReport report = ToWire(job::RankKey{base::JobId{1}, 1, 0}, 1, "{}");
    ASSERT_TRUE(FromWire(report));
    c.damage(report);
    EXPECT_EQ(FromWire(report).error().message.rfind(c.field, 0), 0u) << c.field;
  }
}

// As the agent passes it on, and the coordinator reads it.
std::string WhyUnreadable(const std::string& line) {
  const auto report = FromWire(ToWire(job::RankKey{base::JobId{1}, 1, 0}, 7, line));
  EXPECT_EQ(report->sequence, 7);
  const auto* unreadable = std::get_if<job::UnreadableMessage>(&report->body);
  return unreadable != nullptr ? unreadable->why : "";
}

TEST(RankReport, ALineIsReadOnceAndAsItIs) {
  const auto report =
      FromWire(ToWire(job::RankKey{base::JobId{1}, 2, 3}, 4, R"({"type":"notice","text":"full"})"));
  EXPECT_EQ(report->key, (job::RankKey{base::JobId{1}, 2, 3}));
  EXPECT_EQ(std::get<job::RankNotice>(report->body).text, "full");
  const job::RankContinuation said{4, 1, "Once", " upon\na time"};
  const auto texts = FromWire(ToWire(job::RankKey{base::JobId{1}, 2, 3}, 5, job::ToLine(said)));
  EXPECT_EQ(std::get<job::RankContinuation>(texts->body), said);
}

TEST(RankReport, ALineThatIsNoMessageStillHasItsNumber) {
  EXPECT_THAT(WhyUnreadable("rubbish"), HasSubstr("valid JSON"));
  EXPECT_THAT(WhyUnreadable("\xff\xfe"), HasSubstr("valid JSON"));
  EXPECT_THAT(WhyUnreadable(R"({"type":"exit"})"), HasSubstr("'exit' is not known"))
      << "a rank can't say how it ended";
  EXPECT_THAT(WhyUnreadable(R"({"type":"progress","step":-1})"), HasSubstr("step"));
  EXPECT_LE(WhyUnreadable("{\"type\":\"" + std::string(100'000, 'x') + "\"}").size(), 256u);
  EXPECT_EQ(WhyUnreadable(job::ToLine(job::RankMessage(job::RankProgress{}))), "");
}

TEST(RankReport, ABodyOfANewerWorkerStillHasItsNumber) {
  v1::RankReport message = ToWire(job::RankKey{base::JobId{1}, 1, 0}, 7, "");
  message.clear_body();
  EXPECT_TRUE(std::holds_alternative<job::UnreadableMessage>(FromWire(message)->body));
}

}  // namespace
}  // namespace trainctl::wire
