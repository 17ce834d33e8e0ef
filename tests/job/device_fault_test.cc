#include "common/job/device_fault.h"

#include <gtest/gtest.h>

namespace trainctl::job {
namespace {

TEST(DeviceFault, IsTheProgramsTheDevicesOrNotKnown) {
  EXPECT_EQ(ClassOf(31), FaultClass::kApplication);
  EXPECT_EQ(ClassOf(94), FaultClass::kSuspect);
  EXPECT_EQ(ClassOf(kXidOffTheBus), FaultClass::kBad);
  EXPECT_EQ(ClassOf(kXidRowsWaitForReset), FaultClass::kSuspect);
  EXPECT_EQ(ClassOf(kXidRowsNotReplaced), FaultClass::kBad);
  EXPECT_EQ(ClassOf(99'999), FaultClass::kSuspect) << "to be on the safe side";
  EXPECT_EQ(XidText(kXidOffTheBus), "XID 79 (the GPU has fallen off the bus)");
  EXPECT_EQ(XidText(99'999), "XID 99999 (see NVIDIA's list of XID errors)");
}

}  // namespace
}  // namespace trainctl::job
