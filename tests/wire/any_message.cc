#include "tests/wire/any_message.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "common/wire/rank_key.h"

namespace trainctl::wire {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string AnyValidText(const FieldDescriptor& field) {
  const std::string& name = field.full_name();
  if (name == "trainctl.v1.RankReport.job" || name == "trainctl.v1.DeviceRuns.latest_job")
    return "j" + std::to_string(*rc::gen::inRange(1, 1'000'000));
  return AnyName();
}

int64_t AnyValidNumber(const FieldDescriptor& field) {
  if (field.name() == "rank") return *rc::gen::inRange<int64_t>(0, job::kMaxRank + 1);
  if (field.name() == "attempt" || field.name() == "sequence")
    return *rc::gen::inRange<int64_t>(1, kMaxAttempt);
  return *rc::gen::inRange<int64_t>(0, int64_t{1} << 50);
}

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

}  // namespace

std::string AnyName() { return *rc::gen::container<std::string>(rc::gen::inRange<char>('a', 'z')); }

void Fill(Message* message) {
  for (int i = 0; i < message->GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message->GetDescriptor()->field(i);
    if (!field.real_containing_oneof()) FillField(message, field);
  }
}

}  // namespace trainctl::wire
