#include "common/wire/grpc_code.h"

#include <gtest/gtest.h>

namespace trainctl::wire {
namespace {

using base::Code;

TEST(GrpcCode, EveryCodeThatAClientReactsToComesBackAsItself) {
  for (Code code : {Code::kInvalid, Code::kNotFound, Code::kUnavailable, Code::kExhausted,
                    Code::kConflict, Code::kDenied, Code::kInternal}) {
    EXPECT_EQ(FromGrpcCode(ToGrpcCode(code)), code);
  }
  EXPECT_EQ(FromGrpcCode(ToGrpcCode(Code::kIo)), Code::kInternal);
}

TEST(GrpcCode, NumbersAreThoseThatGrpcSpecifies) {
  EXPECT_EQ(ToGrpcCode(Code::kInvalid), 3);
  EXPECT_EQ(ToGrpcCode(Code::kNotFound), 5);
  EXPECT_EQ(ToGrpcCode(Code::kDenied), 7);
  EXPECT_EQ(ToGrpcCode(Code::kExhausted), 8);
  EXPECT_EQ(ToGrpcCode(Code::kConflict), 9);
  EXPECT_EQ(ToGrpcCode(Code::kInternal), 13);
  EXPECT_EQ(ToGrpcCode(Code::kUnavailable), 14);
}

TEST(GrpcCode, WhatMayPassByWaitingIsUnavailable) {
  for (int code : {1, 4, 10, 14}) EXPECT_EQ(FromGrpcCode(code), Code::kUnavailable) << code;
}

TEST(GrpcCode, UnknownNumbersAreInternal) {
  for (int code : {2, 12, 15, 99, -1}) EXPECT_EQ(FromGrpcCode(code), Code::kInternal) << code;
}

}  // namespace
}  // namespace trainctl::wire
