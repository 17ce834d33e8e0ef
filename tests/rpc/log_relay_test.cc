// A rank's log on its whole way: the worker's relay, the wire, the coordinator's files.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "proto/trainctl.pb.h"
#include "server/coordinator/log_files.h"
#include "server/rpc/worker_messages.h"
#include "tests/rpc/temporary_folder.h"
#include "worker/agent/relay.h"
#include "worker/shim/log_file.h"

namespace trainctl::rpc_test {
namespace {

class LogRelay : public testing::Test {
 protected:
  LogRelay() { relay_.Resume(0, 0); }

  // All that the worker sends now, as far as the coordinator takes it; both go on behind that.
  void Deliver(coordinator::LogFiles& logs) {
    while (const auto message = relay_.Next(/*now=*/0)) {
      const auto piece = rpc::DecodeLog(message->log());
      ASSERT_TRUE(piece.ok()) << piece.error().message;
      const auto stored = logs.Append(piece->key, piece->offset, piece->data, piece->after);
      if (stored) relay_.AcknowledgeLog(*stored);
    }
  }
  std::string Stored(coordinator::LogFiles& logs) {
    std::string text;
    for (int64_t offset = 0;;) {
      const auto piece = logs.Read(key_, offset, 1 << 20);
      if (!piece || piece->data.empty()) return text;
      text += piece->data;
      offset = piece->next_offset;
    }
  }

  const job::RankKey key_{{7}, 1, 0};
  const TemporaryFolder worker_, site_;
  const std::string path_ = site_.path() + "/j7";
  coordinator::LogFiles logs_{site_.path()};
  shim::LogFile log_{worker_.path(),
                     {.first_bytes = 100, .segment_bytes = 100, .newest_segments = 2}};
  agent::Relay relay_{key_, worker_.path()};
};

TEST_F(LogRelay, WhatTheCoordinatorCouldNotStoreIsSentAgainAndNothingIsMissing) {
  log_.Append("one\n");
  Deliver(logs_);
  std::filesystem::rename(path_, path_ + ".away");
  std::ofstream(path_).put('x');  // nothing can be made below a file
  log_.Append("two\n");
  Deliver(logs_);
  log_.Append("three\n");
  Deliver(logs_);
  std::filesystem::remove(path_);
  std::filesystem::rename(path_ + ".away", path_);
  log_.Append("four\n");
  Deliver(logs_);
  EXPECT_EQ(Stored(logs_), "one\n") << "only bytes behind what is stored are taken";
  EXPECT_FALSE(relay_.log_stored());
  relay_.AcknowledgeLog(*logs_.End(key_), true);
  Deliver(logs_);
  EXPECT_EQ(Stored(logs_), "one\ntwo\nthree\nfour\n");
  EXPECT_TRUE(relay_.log_stored());
}

TEST_F(LogRelay, WhatTheWorkerLostIsSaidInItsPlace) {
  std::string all;
  for (int line = 0; line < 100; ++line) {
    const std::string text = "line " + std::to_string(line) + " of a flood\n";
    log_.Append(text);
    all += text;
  }
  Deliver(logs_);
  const std::string stored = Stored(logs_);
  EXPECT_TRUE(stored.starts_with("line 0 of"));
  EXPECT_TRUE(stored.ends_with("line 99 of a flood\n"));
  EXPECT_NE(stored.find("bytes of this log are missing here"), std::string::npos) << stored;
  EXPECT_EQ(*logs_.End(key_), static_cast<int64_t>(all.size()));
}

}  // namespace
}  // namespace trainctl::rpc_test
