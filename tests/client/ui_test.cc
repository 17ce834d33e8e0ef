// Which way ui tells to the dashboard.
#include <gmock/gmock.h>

#include "client/exit_code.h"
#include "tests/client/client_test.h"

namespace trainctl::client {
namespace {

using testing::HasSubstr;

TEST_F(ClientTest, TheDashboardOfThisHostIsAnAddressToOpen) {
  coordinator_.dashboard = "127.0.0.1:40001";
  EXPECT_EQ(Trainctl({"ui", "--server", "127.0.0.1:7070"}).out, "http://127.0.0.1:40001/\n");
}

TEST_F(ClientTest, TheDashboardOfAnotherHostIsReachedThroughALineToPaste) {
  coordinator_.dashboard = "127.0.0.1:40001";
  const std::string out = Trainctl({"ui", "--server", "192.0.2.7:7443"}).out;
  EXPECT_THAT(out, HasSubstr("\n  ssh -N -L 7080:127.0.0.1:40001 192.0.2.7\n"));
  EXPECT_THAT(out, HasSubstr("http://localhost:7080/"));
  EXPECT_THAT(Trainctl({"ui", "--server", "[2001:db8::7]:7443"}).out,
              HasSubstr("ssh -N -L 7080:127.0.0.1:40001 2001:db8::7\n"));
}

// The code is in the fragment, which no browser sends.
TEST_F(ClientTest, OfADashboardWithTlsALinkIsPrintedThatSignsIn) {
  coordinator_.dashboard_tls = "0.0.0.0:7444";
  const Ended ran = Trainctl({"ui", "--server", "gpu-host:7443"});
  EXPECT_EQ(ran.out, "https://gpu-host:7444/sign-in#c0de\n");
  EXPECT_THAT(ran.err, HasSubstr("within 60 s"));
  coordinator_.dashboard_tls = "10.0.0.7:7444";
  EXPECT_EQ(Trainctl({"ui", "--server", "gpu-host:7443"}).out,
            "https://10.0.0.7:7444/sign-in#c0de\n");
  coordinator_.dashboard_tls = "127.0.0.1:7444";
  const std::string out = Trainctl({"ui", "--server", "gpu-host:7443"}).out;
  EXPECT_THAT(out, HasSubstr("ssh -N -L 7080:127.0.0.1:7444 gpu-host\n"));
  EXPECT_THAT(out, HasSubstr("https://localhost:7080/sign-in#c0de"));
}

TEST_F(ClientTest, WithoutADashboardItIsSaidHowToServeOne) {
  EXPECT_EQ(Trainctl({"ui", "--server", "127.0.0.1:7070"}).code, kExitNotFound);
}

}  // namespace
}  // namespace trainctl::client
