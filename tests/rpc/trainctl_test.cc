// Verbs of trainctl against the real coordinator, over gRPC: what fakes of either side can't show.
#include <gtest/gtest.h>

#include "client/exit_code.h"
#include "client/show/output.h"
#include "tests/rpc/fake_worker.h"
#include "tests/rpc/trainctl_site.h"

namespace trainctl::rpc_test {
namespace {

using client::Json;

class TrainctlTest : public testing::Test {
 protected:
  Ended Run(const std::vector<std::string>& words) { return Trainctl(site_, words); }

  std::vector<std::string> Workers() {
    std::vector<std::string> names;
    const Json document = Json::parse(Run({"workers", "-o", "json"}).out);
    for (const Json& worker : document["workers"]) names.push_back(worker["name"]);
    return names;
  }

  TestSite site_;
  FakeWorker worker_{"a/0"};
};

TEST_F(TrainctlTest, WorkersRemoveTakesOnlyOneThatIsGone) {
  worker_.Connect(site_.channel());
  const Ended connected = Run({"workers", "remove", "a/0"});
  EXPECT_EQ(connected.code, client::kExitFailure);
  EXPECT_NE(connected.err.find("it is connected: stop it on its host first"), std::string::npos)
      << connected.err;
  EXPECT_EQ(Workers(), std::vector<std::string>{"a/0"});
  worker_.Disconnect();
  site_.Restart();
  const Ended removed = Run({"workers", "remove", "a/0"});
  EXPECT_EQ(removed.code, client::kExitOk) << removed.err;
  EXPECT_EQ(removed.out, "Removed a/0 from the inventory.\n");
  EXPECT_TRUE(Workers().empty());
  site_.Restart();
  EXPECT_TRUE(Workers().empty()) << "the store has forgotten it too";
  EXPECT_EQ(Run({"workers", "remove", "a/0"}).code, client::kExitNotFound);
}

TEST_F(TrainctlTest, WorkersRemoveNeedsAName) {
  const Ended ended = Run({"workers", "remove"});
  EXPECT_EQ(ended.code, client::kExitUsage);
  EXPECT_NE(ended.err.find("expected remove WORKER"), std::string::npos) << ended.err;
}

}  // namespace
}  // namespace trainctl::rpc_test
