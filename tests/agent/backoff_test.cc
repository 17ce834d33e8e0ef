#include "worker/agent/backoff.h"

#include <gtest/gtest.h>

#include "worker/agent/uplink.h"

namespace trainctl::agent {
namespace {

using std::chrono::milliseconds;

TEST(Backoff, DoublesUpToItsLastWithJitter) {
  Backoff backoff(milliseconds(100), milliseconds(1000), 1);
  for (const int whole : {100, 200, 400, 800, 1000, 1000}) {
    const auto wait = backoff.Next();
    EXPECT_GE(wait, milliseconds(whole / 2));
    EXPECT_LE(wait, milliseconds(whole));
  }
  backoff.Reset();
  EXPECT_LE(backoff.Next(), milliseconds(100));
}

TEST(Backoff, DiffersBetweenWorkers) {
  Backoff first(milliseconds(100000), milliseconds(100000), 1),
      second(milliseconds(100000), milliseconds(100000), 2);
  EXPECT_NE(first.Next(), second.Next());
}

TEST(ParseHostPort, TakesNamesAndBothKindsOfAddresses) {
  EXPECT_EQ(ParseHostPort("gpu1:7070")->host, "gpu1");
  EXPECT_EQ(ParseHostPort("127.0.0.1:7070")->port, "7070");
  EXPECT_EQ(ParseHostPort("[::1]:7070")->host, "::1");
  for (const char* wrong : {"", "gpu1", ":1", "gpu1:", "gpu1:http"})
    EXPECT_FALSE(ParseHostPort(wrong)) << wrong;
}

}  // namespace
}  // namespace trainctl::agent
