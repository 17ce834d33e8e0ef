#include "server/rpc/decode_lease.h"

#include <gtest/gtest.h>

#include <limits>

#include "proto/trainctl.pb.h"

namespace trainctl::rpc {
namespace {

constexpr int64_t kYear = int64_t{366} * 86'400;

v1::CreateLeaseRequest AnHour() {
  v1::CreateLeaseRequest request;
  request.set_request_id("r1");
  request.set_name("lab");
  request.mutable_wish()->set_devices(2);
  request.mutable_wish()->set_start(1'000'000);
  request.mutable_wish()->set_seconds(3600);
  return request;
}

std::string ErrorOf(const v1::CreateLeaseRequest& request) {
  const auto lease = DecodeLease(request);
  return lease ? "" : lease.error().message;
}

TEST(DecodeLease, ARequestIsItsNameAndItsWish) {
  const auto lease = DecodeLease(AnHour());
  ASSERT_TRUE(lease) << lease.error().message;
  EXPECT_EQ(lease->request_id, "r1");
  EXPECT_EQ(lease->name, "lab");
  EXPECT_EQ(lease->wish.devices, 2);
  EXPECT_EQ(lease->wish.start, 1'000'000);
  EXPECT_EQ(lease->wish.length_us, int64_t{3600} * 1'000'000);
}

TEST(DecodeLease, WhatIsNoTimeIsRefusedByItsField) {
  v1::CreateLeaseRequest request = AnHour();
  request.mutable_wish()->set_start(-1);
  EXPECT_EQ(ErrorOf(request), "wish.start: -1: expected a number from 0");
  request = AnHour();
  request.mutable_wish()->set_seconds(std::numeric_limits<int64_t>::min());
  EXPECT_EQ(ErrorOf(request), "wish.seconds: -9223372036854775808: expected a number from 0");
  request = AnHour();
  request.set_request_id("");
  EXPECT_EQ(ErrorOf(request), "request_id: 0 bytes: expected from 1 to 128");
}

// It would be granted for a year where the policy sets no bound, and nobody would be told.
TEST(DecodeLease, MoreThanAYearIsRefusedAndNotCutToAYear) {
  v1::CreateLeaseRequest request = AnHour();
  request.mutable_wish()->set_seconds(kYear);
  EXPECT_EQ(ErrorOf(request), "");
  request.mutable_wish()->set_seconds(kYear + 1);
  EXPECT_EQ(ErrorOf(request), "a lease for 366 d 1 s: expected at most 366 d");
  request.mutable_wish()->set_seconds(std::numeric_limits<int64_t>::max());
  EXPECT_NE(ErrorOf(request), "");
}

TEST(DecodeLease, AnExtensionIsBoundedLikewise) {
  v1::ExtendLeaseRequest request;
  request.set_seconds(kYear);
  EXPECT_TRUE(DecodeExtension(request));
  for (const int64_t seconds : {int64_t{-1}, kYear + 1, std::numeric_limits<int64_t>::max()}) {
    request.set_seconds(seconds);
    const auto checked = DecodeExtension(request);
    ASSERT_FALSE(checked) << seconds;
    EXPECT_TRUE(checked.error().message.starts_with(seconds < 0 ? "seconds: -1" : "a lease for "))
        << checked.error().message;
  }
  request.set_seconds(kYear);
  request.set_end_was(-1);
  EXPECT_EQ(DecodeExtension(request).error().message, "end_was: -1: expected a number from 0");
}

}  // namespace
}  // namespace trainctl::rpc
