#include "worker/agent/data_interface.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trainctl::agent {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(DataInterface, IsFoundByItsAddress) {
  EXPECT_EQ(InterfaceWith("127.0.0.1"), "lo");
  EXPECT_EQ(InterfaceWith("192.0.2.1"), "");
  EXPECT_EQ(InterfaceWith("lo"), "");
  EXPECT_EQ(InterfaceWith(""), "");
}

TEST(DataInterface, IsTheOneThatNcclIsToldUnlessTheUserHasChosen) {
  EXPECT_THAT(NcclInterface("127.0.0.1", {"NCCL_DEBUG=WARN"}),
              ElementsAre("NCCL_SOCKET_IFNAME==lo"));
  EXPECT_THAT(NcclInterface("127.0.0.1", {"NCCL_SOCKET_IFNAME=eth0"}), IsEmpty());
  EXPECT_THAT(NcclInterface("", {}), IsEmpty());
  EXPECT_THAT(NcclInterface("192.0.2.1", {}), IsEmpty()) << "no interface has it";
}

}  // namespace
}  // namespace trainctl::agent
