#include "worker/agent/fault_reader.h"

#include <gtest/gtest.h>

#include <deque>

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
// Of the driver's queue of events; only what was asked for comes into it.
struct EventQueue {
  bool is_made = false;
  unsigned long long supported = kNvmlXidEvent | kNvmlDoubleBitEvent;
  unsigned long long asked_for = 0;
  std::deque<NvmlEventData> events;

  void Happens(unsigned long long type, unsigned long long data) {
    if ((asked_for & type) != 0) events.push_back({.type = type, .data = data});
  }
};
EventQueue queue;

int CreateEvents(NvmlEventSet* set) {
  *set = &queue;
  queue.is_made = true;
  return kNvmlSuccess;
}
int SupportedEvents(NvmlDevice, unsigned long long* types) {
  *types = queue.supported;
  return kNvmlSuccess;
}
int RegisterEvents(NvmlDevice, unsigned long long types, NvmlEventSet) {
  queue.asked_for = types;
  return (types & ~queue.supported) == 0 ? kNvmlSuccess : kNvmlNotSupported;
}
int WaitEvent(NvmlEventSet, NvmlEventData* event, unsigned timeout_ms) {
  constexpr int kTimeout = 10;
  EXPECT_EQ(timeout_ms, 0u) << "the worker's thread waits for no event";
  if (queue.events.empty()) return kTimeout;
  *event = queue.events.front();
  queue.events.pop_front();
  return kNvmlSuccess;
}
int FreeEvents(NvmlEventSet) {
  queue.is_made = false;
  return kNvmlSuccess;
}

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
    queue = {};
    functions_.ecc_errors = EccErrors;
    functions_.remapped_rows = RemappedRows;
    functions_.retired_pages_pending = RetiredPagesPending;
  }
  void HaveEvents() {
    functions_.create_events = CreateEvents;
    functions_.supported_events = SupportedEvents;
    functions_.register_events = RegisterEvents;
    functions_.wait_event = WaitEvent;
    functions_.free_events = FreeEvents;
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

TEST_F(FaultReaderTest, TheDriversEventsAreReadInTheirOrderAndOnce) {
  HaveEvents();
  {
    FaultReader reader(functions_, nullptr);
    EXPECT_TRUE(queue.is_made);
    EXPECT_EQ(reader.Read().xids, Numbers());
    queue.Happens(kNvmlXidEvent, 79);
    queue.Happens(kNvmlXidEvent, 31);
    queue.Happens(kNvmlXidEvent, 79);
    queue.Happens(kNvmlDoubleBitEvent, 0);
    says.ecc_errors = 1;  // the same error, told twice
    EXPECT_EQ(reader.Read().xids, (Numbers{79, 31, job::kXidDoubleBitError}));
    EXPECT_EQ(reader.Read().xids, Numbers());
  }
  EXPECT_FALSE(queue.is_made) << "the driver keeps nothing for who is gone";
}

TEST_F(FaultReaderTest, OnlyEventsThatTheGpuHasAreAskedFor) {
  HaveEvents();
  queue.supported = kNvmlXidEvent;
  FaultReader reader(functions_, nullptr);
  queue.Happens(kNvmlXidEvent, 13);
  EXPECT_EQ(reader.Read().xids, Numbers{13});
}

TEST_F(FaultReaderTest, ManyEventsAreReadByAndBy) {
  HaveEvents();
  FaultReader reader(functions_, nullptr);
  for (unsigned long long xid = 1; xid <= 100; ++xid) queue.Happens(kNvmlXidEvent, xid);
  const size_t first = reader.Read().xids.size();
  EXPECT_LT(first, 100u) << "one reading has an end";
  EXPECT_EQ(first + reader.Read().xids.size(), 100u);
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
