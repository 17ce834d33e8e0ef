// A worker runs whatever its coordinator says: a stranger at the coordinator's address must not be
// one.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "proto/trainctl.pb.h"
#include "tests/peer/stranger.h"
#include "worker/agent/uplink.h"

namespace trainctl::agent {
namespace {

TEST(AgentStranger, IsSentNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a socket of another user";
  const peer::Stranger stranger(65534);
  boost::asio::io_context io;
  UplinkOptions options;
  options.coordinator = stranger.address();
  options.first_retry = options.last_retry = std::chrono::milliseconds(1);
  bool is_up = false;
  Uplink uplink(io, options,
                {.on_up = [&](const std::string&) { is_up = true; },
                 .on_message = [](const v1::CoordinatorMessage&) {},
                 .on_writable = [] {},
                 .on_down = [](const base::Error&) {}});
  uplink.Start();
  while (stranger.taken() < 3 && !is_up) io.run_one();
  EXPECT_FALSE(is_up);
  EXPECT_EQ(stranger.bytes(), 0u);
}

}  // namespace
}  // namespace trainctl::agent
