// What a worker's Hello costs the store.
#include <gtest/gtest.h>

#include "server/core/step.h"

namespace trainctl::core {
namespace {

WorkerHello Hello() {
  WorkerHello hello;
  hello.worker.name = "a/0";
  hello.worker.host = "a";
  hello.worker.version = "1";
  hello.device_free = true;
  return hello;
}

TEST(Hello, IsStoredWhereItSaysSomethingNew) {
  State state;
  EXPECT_EQ(Step(state, Hello(), {1, 1}).persist.size(), 1u);
  EXPECT_EQ(Step(state, Hello(), {2, 2}).persist.size(), 0u) << "as with a full disk";
  WorkerHello newer = Hello();
  newer.worker.version = "2";
  EXPECT_EQ(Step(state, newer, {3, 3}).persist.size(), 1u);
  newer.worker.device.memory_bytes = 7;
  EXPECT_EQ(Step(state, newer, {4, 4}).persist.size(), 1u);
  newer.worker.device.labels["rack"] = "r1";
  EXPECT_EQ(Step(state, newer, {4, 4}).persist.size(), 1u);
  newer.worker.device.host_memory_bytes = 8;
  EXPECT_EQ(Step(state, newer, {4, 4}).persist.size(), 1u);
  newer.worker.device.links["GPU-2"] = job::LinkKind::kNvlink;
  EXPECT_EQ(Step(state, newer, {4, 4}).persist.size(), 1u);
  EXPECT_EQ(Step(state, WorkerStreamLost{"a/0"}, {5, 5}).persist.size(), 1u)
      << "when it was seen last";
}

}  // namespace
}  // namespace trainctl::core
