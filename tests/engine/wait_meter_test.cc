#include "worker/rank/process/wait_meter.h"

#include <gtest/gtest.h>

#include <chrono>

namespace trainctl::train {
namespace {

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Spin(double seconds) {
  for (const double end = Now() + seconds; Now() < end;) continue;
}

TEST(WaitMeter, TheWaitsOfAStepAreSummedAndOthersAreNot) {
  WaitMeter meter(at::kCPU);
  {
    const WaitMeter::Span before(meter);
  }
  meter.Begin();
  double most = 0;
  for (int i = 0; i < 2; ++i) {
    const double begin = Now();
    {
      const WaitMeter::Span wait(meter);
      Spin(0.002);
    }
    most += Now() - begin;
  }
  Spin(0.002);
  const WaitMeter::Waits waits = meter.End();
  {
    const WaitMeter::Span behind(meter);
  }
  EXPECT_EQ(waits.size(), 2u);
  EXPECT_GE(TotalSeconds(waits), 0.004);
  EXPECT_LE(TotalSeconds(waits), most);
  EXPECT_TRUE(meter.End().empty());
}

}  // namespace
}  // namespace trainctl::train
