// Messages are filled by protobuf's reflection, every field at random: a field that either
// direction forgets fails the round trip.
#include "common/wire/rank_report.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <functional>

#include "common/wire/metric_point.h"
#include "common/wire/oom_detail.h"
#include "common/wire/rank_key.h"
#include "proto/trainctl.pb.h"

namespace trainctl::wire {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string AnyName() { return *rc::gen::container<std::string>(rc::gen::inRange<char>('a', 'z')); }

std::string AnyValidText(const FieldDescriptor& field) {
  static const std::array<std::string, 3> kPhases = {"", "before_forward", "after_optimizer_step"};
  static const std::array<std::string, 3> kOutcomes = {"SUCCEEDED", "DIVERGED", "LAUNCH_FAILED"};
  static const std::array<std::string, 3> kRunPhases = {"placed", "evaluating", "saving"};
  const std::string& name = field.full_name();
  if (name == "trainctl.v1.RankReport.job")
    return "j" + std::to_string(*rc::gen::inRange(1, 1'000'000));
  if (name == "trainctl.v1.MetricPoint.name") return "m" + AnyName();
  if (name == "trainctl.v1.MetricPoint.phase") return *rc::gen::elementOf(kPhases);
  if (name == "trainctl.v1.RankPhase.phase") return *rc::gen::elementOf(kRunPhases);
  if (name == "trainctl.v1.RankOutcome.outcome") return *rc::gen::elementOf(kOutcomes);
  return AnyName();
}

int64_t AnyValidNumber(const FieldDescriptor& field) {
  if (field.name() == "rank") return *rc::gen::inRange<int64_t>(0, kMaxRank + 1);
  if (field.name() == "attempt" || field.name() == "sequence")
    return *rc::gen::inRange<int64_t>(1, kMaxAttempt);
  return *rc::gen::inRange<int64_t>(0, int64_t{1} << 50);
}

void Fill(Message* message);

void FillField(Message* message, const FieldDescriptor& field) {
  const auto* reflection = message->GetReflection();
  if (field.is_repeated()) {
    for (int n = *rc::gen::inRange(0, 4); n > 0; --n) Fill(reflection->AddMessage(message, &field));
    return;
  }
  if (field.has_presence() && *rc::gen::arbitrary<bool>()) return;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection->SetString(message, &field, AnyValidText(field));
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection->SetInt64(message, &field, AnyValidNumber(field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection->SetDouble(message, &field, *rc::gen::arbitrary<double>());
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection->SetBool(message, &field, *rc::gen::arbitrary<bool>());
    case FieldDescriptor::CPPTYPE_MESSAGE: return Fill(reflection->MutableMessage(message, &field));
    default: FAIL() << "no generator for " << field.full_name();
  }
}

void Fill(Message* message) {
  for (int i = 0; i < message->GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message->GetDescriptor()->field(i);
    if (!field.real_containing_oneof()) FillField(message, field);
  }
}

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
