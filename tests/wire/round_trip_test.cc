#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "common/wire/artifact.h"
#include "common/wire/device_fault.h"
#include "common/wire/earlier_runs.h"
#include "common/wire/output_removal.h"
#include "common/wire/samples.h"
#include "common/wire/user_policy.h"
#include "proto/trainctl.pb.h"
#include "tests/wire/any_message.h"

namespace trainctl::wire {
namespace {

template <class Message>
Message Filled() {
  Message message;
  Fill(&message);
  return message;
}

RC_GTEST_PROP(RoundTrip, OfEarlierRuns, ()) {
  auto message = Filled<v1::ShapeRuns>();
  for (v1::DeviceStarts& starts : *message.mutable_starts()) starts.set_source("model");
  RC_ASSERT(ToWire(FromWire(message)).SerializeAsString() == message.SerializeAsString());
}

RC_GTEST_PROP(RoundTrip, OfADevicesPower, ()) {
  const auto message = Filled<v1::DevicePower>();
  RC_ASSERT(ToWire(FromWire(message)).SerializeAsString() == message.SerializeAsString());
}

RC_GTEST_PROP(RoundTrip, OfADevicesSample, ()) {
  const auto message = Filled<v1::DeviceSample>();
  RC_ASSERT(ToWire(FromWire(message)).SerializeAsString() == message.SerializeAsString());
}

TEST(RoundTrip, OfADevicesFaultsEachXidOnceAndNotTooMany) {
  std::vector<job::DeviceFault> faults = {{79, 5}, {31, 6}};
  v1::DeviceFaults message;
  ToWire(faults, message.mutable_faults());
  EXPECT_EQ(FromWire(message.faults()), faults);
  ToWire({{79, 7}, {0, 8}, {-1, 9}}, message.mutable_faults());
  EXPECT_EQ(FromWire(message.faults()), faults);
  for (int64_t xid = 100; xid < 200; ++xid) ToWire({{xid, xid}}, message.mutable_faults());
  EXPECT_EQ(FromWire(message.faults()).size(), job::kMaxFaults);
}

RC_GTEST_PROP(RoundTrip, OfAHostsSample, ()) {
  const auto message = Filled<v1::HostSample>();
  RC_ASSERT(ToWire(FromWire(message)).SerializeAsString() == message.SerializeAsString());
}

RC_GTEST_PROP(RoundTrip, OfWhatAUserMayHave, ()) {
  auto message = Filled<v1::UserPolicy>();
  message.clear_user();  // whose it is, and what is taken of it, others say
  message.clear_held_devices();
  message.clear_waiting_jobs();
  RC_ASSERT(ToWire(FromWire(message)).SerializeAsString() == message.SerializeAsString());
}

RC_GTEST_PROP(RoundTrip, OfAQuestionForAnArtifact, ()) {
  auto message = Filled<v1::ArtifactAsk>();
  message.clear_request_id();  // of the question's way, not of the question
  RC_ASSERT(ToWire(FromWire(message)).SerializeAsString() == message.SerializeAsString());
}

RC_GTEST_PROP(RoundTrip, OfAPieceOfAnArtifact, ()) {
  const auto message = Filled<v1::ReadArtifactResponse>();
  RC_ASSERT(ToWire(*FromWire(message)).SerializeAsString() == message.SerializeAsString());
}

RC_GTEST_PROP(RoundTrip, OfAQuestionForARemoval, ()) {
  auto message = Filled<v1::OutputsAsk>();
  message.clear_request_id();  // of the question's way, not of the question
  RC_ASSERT(ToWire(FromWire(message)).SerializeAsString() == message.SerializeAsString());
}

RC_GTEST_PROP(RoundTrip, OfWhatARemovalFound, ()) {
  auto message = Filled<v1::HostOutputs>();
  message.clear_host();  // who tells it is known
  const auto answer = FromWire(message);
  RC_ASSERT(answer.ok() == (message.files() >= 0 && message.bytes() >= 0));
  if (answer.ok()) RC_ASSERT(ToWire(*answer).SerializeAsString() == message.SerializeAsString());
}

TEST(RemovalAnswer, OfTooManyPathsIsRefused) {
  v1::HostOutputs message;
  for (size_t i = 0; i <= job::RemovalAnswer::kMaxLeft; ++i) message.add_left();
  EXPECT_THAT(FromWire(message).error().message, testing::HasSubstr("101 paths"));
}

TEST(ArtifactPiece, ThatIsTooLargeIsRefused) {
  v1::ReadArtifactResponse message;
  message.set_data(std::string(job::ArtifactPiece::kMaxBytes + 1, 'x'));
  EXPECT_THAT(FromWire(message).error().message, testing::HasSubstr("1048577 bytes"));
  message.clear_data();
  for (size_t i = 0; i <= job::ArtifactPiece::kMaxFiles; ++i) message.add_files();
  EXPECT_THAT(FromWire(message).error().message, testing::HasSubstr("10001 files"));
}

}  // namespace
}  // namespace trainctl::wire
