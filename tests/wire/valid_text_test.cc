#include "common/wire/valid_text.h"

#include <gtest/gtest.h>

#include "proto/trainctl.pb.h"

namespace trainctl::wire {
namespace {

TEST(MakeTextValid, AMessageWithBytesOfALogCanBeSentAndReadAgain) {
  v1::WorkerMessage message;
  message.mutable_report()->mutable_exit()->set_last_log_lines("data.json: 'Say \xff'");
  MakeTextValid(&message);
  v1::WorkerMessage read;
  ASSERT_TRUE(read.ParseFromString(message.SerializeAsString()));
  EXPECT_EQ(read.report().exit().last_log_lines(), "data.json: 'Say \uFFFD'");
}

TEST(MakeTextValid, ListsOfTextsAreMended) {
  v1::ListRequest request;
  request.add_jobs("fine");
  request.add_jobs("a\xff");
  MakeTextValid(&request);
  EXPECT_EQ(request.jobs(0), "fine");
  EXPECT_EQ(request.jobs(1), "a\uFFFD");
}

TEST(MakeTextValid, BytesStayAsTheyAre) {
  v1::LogChunk chunk;
  chunk.set_data("\xff\xfe");
  MakeTextValid(&chunk);
  EXPECT_EQ(chunk.data(), "\xff\xfe");
}

}  // namespace
}  // namespace trainctl::wire
