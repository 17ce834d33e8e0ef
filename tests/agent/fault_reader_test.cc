#include "worker/agent/fault_reader.h"

#include <gtest/gtest.h>

#include "common/job/device_fault.h"

namespace trainctl::agent {
namespace {

// NVML has no place for a caller's own data: what it says lies here. Of one test at a time.
struct NvmlSays {
  int error = kNvmlSuccess;  // of every question to the device
  unsigned long long ecc_errors = 0;
  unsigned rows_wait = 0;
  unsigned rows_failed = 0;
  int pages_error = kNvmlNotSupported;
};
NvmlSays says;

int EccErrors(NvmlDevice, int, int, unsigned long long* count) {
  *count = says.ecc_errors;
  return says.error;
}

int RemappedRows(NvmlDevice, unsigned*, unsigned*, unsigned* pending, unsigned* failed) {
  *pending = says.rows_wait;
  *failed = says.rows_failed;
  return says.error;
}

int RetiredPagesPending(NvmlDevice, int*) { return says.pages_error; }

class FaultReaderTest : public testing::Test {
 protected:
  FaultReaderTest() {
    says = {};
    functions_.ecc_errors = EccErrors;
    functions_.remapped_rows = RemappedRows;
    functions_.retired_pages_pending = RetiredPagesPending;
  }
  using Numbers = std::vector<int64_t>;

  FaultFunctions functions_ = {};
};

TEST_F(FaultReaderTest, OfWhatIsThereAtTheStartOnlyEccErrorsAreOldNews) {
  says = {.ecc_errors = 3, .rows_wait = 1, .rows_failed = 1};
  FaultReader reader(functions_, nullptr);
  const GpuFaults first = reader.Read();
  EXPECT_EQ(first.xids, Numbers{job::kXidRowsNotReplaced});
  EXPECT_EQ(first.reset_pending, true);
  says.ecc_errors = 4;
  says.rows_wait = 0;
  const GpuFaults second = reader.Read();
  EXPECT_EQ(second.xids, Numbers{job::kXidDoubleBitError});
  EXPECT_EQ(second.reset_pending, false);
}

TEST_F(FaultReaderTest, AGpuIsLostAsOftenAsItCameBack) {
  FaultReader reader(functions_, nullptr);
  for (int i = 0; i < 2; ++i) {
    says.error = kNvmlGpuIsLost;
    EXPECT_EQ(reader.Read().xids, Numbers{job::kXidOffTheBus});
    EXPECT_EQ(reader.Read().xids, Numbers()) << "it is still the same loss";
    says.error = kNvmlSuccess;
    EXPECT_EQ(reader.Read().xids, Numbers());
  }
}

TEST_F(FaultReaderTest, NoAnswerIsNotThatNoResetIsDue) {
  FaultReader reader(functions_, nullptr);
  says.error = kNvmlGpuIsLost;
  EXPECT_EQ(reader.Read().reset_pending, std::nullopt);
  says.error = kNvmlSuccess;
  says.pages_error = kNvmlGpuIsLost;
  EXPECT_EQ(reader.Read().reset_pending, std::nullopt) << "the pages may wait";
  says.rows_wait = 1;
  EXPECT_EQ(reader.Read().reset_pending, true);
  says = {.error = kNvmlNotSupported};
  EXPECT_EQ(reader.Read().reset_pending, false);
}

}  // namespace
}  // namespace trainctl::agent
