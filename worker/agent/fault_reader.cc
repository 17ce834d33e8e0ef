#include "worker/agent/fault_reader.h"

#include <set>
#include <utility>

#include "common/job/device_fault.h"

namespace trainctl::agent {
namespace {

constexpr int kUncorrected = 1, kSinceDriverLoaded = 0;  // of ECC errors
constexpr int kMostEventsAtOnce = 64;

// Nothing waits where the driver can't say; nullopt: it does not answer now.
std::optional<bool> Waits(int error, bool pending) {
  if (error == kNvmlNotSupported) return false;
  return error == kNvmlSuccess ? std::optional(pending) : std::nullopt;
}

// Of two kinds of memory.
std::optional<bool> AnyWaits(std::optional<bool> one, std::optional<bool> other) {
  if (one == true || other == true) return true;
  return one && other ? std::optional(false) : std::nullopt;
}

}  // namespace

FaultReader::FaultReader(const FaultFunctions& functions, NvmlDevice device)
    : nvml_(functions), device_(device) {
  ListenToEvents();
  NewEccErrors();
}

FaultReader::~FaultReader() {
  if (events_ != nullptr && nvml_.free_events != nullptr) nvml_.free_events(events_);
}

GpuFaults FaultReader::Read() {
  GpuFaults faults;
  lost_now_.reset();
  std::set<int64_t> told;
  const auto add = [&](int64_t xid, bool is_new) {
    if (is_new && told.insert(xid).second) faults.xids.push_back(xid);
  };
  for (const int64_t xid : Events()) add(xid, true);
  const bool had_failed = rows_failed_;
  const std::optional<bool> rows_wait = RowsWait();
  faults.reset_pending = AnyWaits(rows_wait, PagesWait());
  // The driver's own event for the same may come with it, or be missed.
  add(job::kXidDoubleBitError, NewEccErrors());
  add(job::kXidRowsNotReplaced, rows_failed_ && !had_failed);
  add(job::kXidOffTheBus, lost_now_ == true && !is_lost_);
  is_lost_ = lost_now_.value_or(is_lost_);
  return faults;
}

// The driver keeps what happens from here on for us.
void FaultReader::ListenToEvents() {
  const bool can = nvml_.create_events != nullptr && nvml_.register_events != nullptr &&
                   nvml_.wait_event != nullptr;
  if (!can || nvml_.create_events(&events_) != kNvmlSuccess) {
    events_ = nullptr;
    return;
  }
  unsigned long long wanted = kNvmlXidEvent | kNvmlDoubleBitEvent, supported = wanted;
  if (nvml_.supported_events != nullptr &&
      nvml_.supported_events(device_, &supported) == kNvmlSuccess)
    wanted &= supported;
  is_listening_ = wanted != 0 && nvml_.register_events(device_, wanted, events_) == kNvmlSuccess;
}

std::vector<int64_t> FaultReader::Events() {
  std::vector<int64_t> xids;
  NvmlEventData event = {};
  for (int i = 0; is_listening_ && i < kMostEventsAtOnce; ++i) {
    const int error = nvml_.wait_event(events_, &event, 0);
    if (error == kNvmlGpuIsLost) Heard(error);
    if (error != kNvmlSuccess) break;
    if (event.type == kNvmlXidEvent) xids.push_back(static_cast<int64_t>(event.data));
    if (event.type == kNvmlDoubleBitEvent) xids.push_back(job::kXidDoubleBitError);
  }
  return xids;
}

bool FaultReader::NewEccErrors() {
  unsigned long long count = 0;
  if (nvml_.ecc_errors == nullptr) return false;
  const int error = nvml_.ecc_errors(device_, kUncorrected, kSinceDriverLoaded, &count);
  Heard(error);
  return error == kNvmlSuccess && count > std::exchange(ecc_errors_, count);
}

std::optional<bool> FaultReader::RowsWait() {
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  if (nvml_.remapped_rows == nullptr) return false;
  const int error = nvml_.remapped_rows(device_, &corrected, &uncorrected, &pending, &failed);
  Heard(error);
  if (error == kNvmlSuccess) rows_failed_ = failed != 0;
  return Waits(error, pending != 0);
}

std::optional<bool> FaultReader::PagesWait() {
  int pending = 0;
  if (nvml_.retired_pages_pending == nullptr) return false;
  const int error = nvml_.retired_pages_pending(device_, &pending);
  Heard(error);
  return Waits(error, pending != 0);
}

// A GPU that has come back after a reset may be lost again.
void FaultReader::Heard(int error) {
  if (error == kNvmlGpuIsLost) lost_now_ = true;
  if (error == kNvmlSuccess && !lost_now_) lost_now_ = false;
}

}  // namespace trainctl::agent
