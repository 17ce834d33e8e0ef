// A worker's directory is its own, by a lock.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "tests/failing_flock.h"
#include "tests/shim/temp_folder.h"
#include "worker/agent/agent.h"

namespace trainctl::agent {
namespace {

class DirectoryLockTest : public testing::Test {
 protected:
  base::Status Start() {
    AgentOptions options;
    options.directory = folder_.path() + "/worker";
    options.uplink.coordinator_file = folder_.path() + "/none";
    agents_.push_back(std::make_unique<Agent>(io_, clock_, options, *device_));
    return agents_.back()->Start();
  }

  tests::TempFolder folder_;
  boost::asio::io_context io_;
  base::FakeClock clock_;
  std::unique_ptr<Device> device_ = MakeCpuSlot({.host = "h"});
  std::vector<std::unique_ptr<Agent>> agents_;
};

TEST_F(DirectoryLockTest, AnotherWorkerInTheDirectoryIsAConflict) {
  EXPECT_TRUE(Start().ok());
  EXPECT_EQ(Start().error().code, base::Code::kConflict);
}

TEST_F(DirectoryLockTest, ALockThatTheFileSystemRefusesIsNoOtherWorker) {
  const tests::FailingFlock fails(ENOLCK);
  const base::Status started = Start();
  EXPECT_EQ(started.error().code, base::Code::kIo);
  EXPECT_NE(started.error().message.find("worker.lock: No locks available"), std::string::npos)
      << started.error().message;
}

}  // namespace
}  // namespace trainctl::agent
