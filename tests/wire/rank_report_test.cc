#include "common/wire/rank_report.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <functional>

#include "common/wire/metric_point.h"
#include "common/wire/oom_detail.h"
#include "common/wire/rank_key.h"
#include "proto/trainctl.pb.h"
#include "tests/wire/any_message.h"

namespace trainctl::wire {
namespace {

using google::protobuf::FieldDescriptor;

// A valid report with the i-th kind of body.
v1::RankReport AnyReport(int body) {
  v1::RankReport report;
  Fill(&report);
  const FieldDescriptor* field = v1::RankReport::descriptor()->oneof_decl(0)->field(body);
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    report.GetReflection()->SetString(&report, field, AnyName());
  } else {
    Fill(report.GetReflection()->MutableMessage(&report, field));
  }
  if (report.exit().has_exit_code()) report.mutable_exit()->clear_signal();
  // Written always, so that what was absent comes back present and empty.
  if (report.outcome().has_oom()) report.mutable_outcome()->mutable_oom()->mutable_memory();
  return report;
}

std::string Refusal(const v1::RankReport& report) {
  const auto read = FromWire(report);
  return read ? "" : read.error().message;
}

v1::RankReport ValidReport() {
  v1::RankReport report;
  report.set_job("j1");
  report.set_attempt(1);
  report.set_sequence(1);
  report.mutable_launch_failure()->set_message("no shim");
  return report;
}

RC_GTEST_PROP(RankReport, EveryReportComesBackAsItWas, ()) {
  const int bodies = v1::RankReport::descriptor()->oneof_decl(0)->field_count();
  const v1::RankReport message = AnyReport(*rc::gen::inRange(0, bodies));
  const auto report = FromWire(message);
  if (!report) RC_FAIL(report.error().message);
  RC_ASSERT(ToWire(*report).SerializeAsString() == message.SerializeAsString());
}

RC_GTEST_PROP(RankReport, ReadingDamagedBytesNeverThrows, (std::string noise)) {
  const google::protobuf::LogSilencer silence;
  std::string bytes = AnyReport(*rc::gen::inRange(0, 9)).SerializeAsString();
  const size_t at = *rc::gen::inRange<size_t>(0, bytes.size() + 1);
  bytes.replace(at, noise.size(), noise);
  v1::RankReport message;
  if (!message.ParseFromString(bytes)) return;
  const auto report = FromWire(message);
  if (!report) RC_ASSERT(!report.error().message.empty());
}

TEST(RankReport, EachBadFieldIsNamed) {
  struct Case {
    std::string field;
    std::function<void(v1::RankReport&)> damage;
  };
  const Case cases[] = {
      {"job:", [](auto& r) { r.set_job("12"); }},
      {"attempt:", [](auto& r) { r.set_attempt(0); }},
      {"rank:", [](auto& r) { r.set_rank(-1); }},
      {"rank:", [](auto& r) { r.set_rank(kMaxRank + 1); }},
      {"sequence:", [](auto& r) { r.set_sequence(0); }},
      {"body:", [](auto& r) { r.clear_body(); }},
      {"started.pid:", [](auto& r) { r.mutable_started()->set_pid(-1); }},
      {"phase.phase:", [](auto& r) { r.mutable_phase()->set_phase("idling"); }},
      {"phase.done:",
       [](auto& r) {
         r.mutable_phase()->set_phase("loading");
         r.mutable_phase()->set_done(-1);
       }},
      {"phase.total:",
       [](auto& r) {
         r.mutable_phase()->set_phase("loading");
         r.mutable_phase()->set_total(-1);
       }},
      {"progress.step:", [](auto& r) { r.mutable_progress()->set_step(-1); }},
      {"progress.steps:", [](auto& r) { r.mutable_progress()->set_steps(-1); }},
      {"progress.peak_allocated_bytes:",
       [](auto& r) { r.mutable_progress()->set_peak_allocated_bytes(-1); }},
      {"metrics.points[0].name:", [](auto& r) { r.mutable_metrics()->add_points(); }},
      {"metrics.points[0].name:",
       [](auto& r) {
         r.mutable_metrics()->add_points()->set_name(std::string(kMaxMetricNameBytes + 1, 'x'));
       }},
      {"outcome.outcome:", [](auto& r) { r.mutable_outcome()->set_outcome("EXPLODED"); }},
      {"exit:",
       [](auto& r) { r.mutable_exit()->set_exit_code(1), r.mutable_exit()->set_signal(9); }},
  };
  for (const Case& c : cases) {
    v1::RankReport report = ValidReport();
    ASSERT_EQ(Refusal(report), "");
    c.damage(report);
    EXPECT_EQ(Refusal(report).rfind(c.field, 0), 0u) << Refusal(report);
  }
}

TEST(RankReport, ABadPointIsNamedByItsPlace) {
  v1::RankReport report = ValidReport();
  for (int i = 0; i < 3; ++i) report.mutable_metrics()->add_points()->set_name("loss");
  report.mutable_metrics()->mutable_points(2)->set_phase("afterwards");
  EXPECT_EQ(
      Refusal(report),
      "metrics.points[2].phase: 'afterwards': expected a phase of a step such as after_forward");
}

TEST(RankReport, ANegativeKindOfMemoryIsNamedDownToItsField) {
  v1::RankReport report = ValidReport();
  report.mutable_outcome()->set_outcome("OOM_GPU");
  report.mutable_outcome()->mutable_oom()->mutable_memory()->set_grads(-5);
  EXPECT_EQ(Refusal(report), "outcome.oom.memory.grads: -5: expected bytes, from 0");
}

TEST(RankReport, ANoticeComesBack) {
  const auto report = FromWire(ToWire(job::RankReport{{1, 1, 0}, 3, job::RankNotice{"disk full"}}));
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(std::get<job::RankNotice>(report->body).text, "disk full");
}

TEST(RankReport, ARanksOwnMessageBecomesTheSameBody) {
  const job::ReportBody body = ToBody(job::RankSaved{"final", "/runs/a", 4096, "files"});
  ASSERT_TRUE(std::holds_alternative<job::RankSaved>(body));
  EXPECT_EQ(std::get<job::RankSaved>(body).path, "/runs/a");
  EXPECT_EQ(std::get<job::RankSaved>(body).bytes, 4096);
}

}  // namespace
}  // namespace trainctl::wire
