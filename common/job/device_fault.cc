#include "common/job/device_fault.h"

#include <algorithm>
#include <iterator>

namespace trainctl::job {
namespace {

struct Xid {
  int64_t number;
  FaultClass fault_class;
  std::string_view meaning;
};

constexpr FaultClass kProgram = FaultClass::kApplication;

constexpr Xid kXids[] = {
    {8, FaultClass::kSuspect, "the GPU stopped processing"},
    {13, kProgram, "graphics engine exception: an illegal instruction or access"},
    {31, kProgram, "GPU memory page fault: an illegal address"},
    {32, FaultClass::kSuspect, "corrupted push buffer stream"},
    {38, FaultClass::kSuspect, "driver firmware error"},
    {43, kProgram, "the GPU stopped processing for a program"},
    {44, FaultClass::kSuspect, "graphics engine fault during a context switch"},
    {45, kProgram, "preemptive cleanup, after other errors or a program's end"},
    {46, FaultClass::kSuspect, "the GPU stopped processing: a timeout"},
    {kXidDoubleBitError, FaultClass::kSuspect, "double-bit ECC error"},
    {54, FaultClass::kBad, "auxiliary power is not connected"},
    {61, FaultClass::kSuspect, "internal microcontroller warning"},
    {62, FaultClass::kBad, "internal microcontroller halt"},
    {kXidRowsWaitForReset, FaultClass::kSuspect, "memory rows or pages wait for a reset"},
    {kXidRowsNotReplaced, FaultClass::kBad, "memory rows or pages could not be replaced"},
    {68, kProgram, "video decoder exception"},
    {69, kProgram, "graphics engine class error"},
    {74, FaultClass::kSuspect, "NVLink error"},
    {kXidOffTheBus, FaultClass::kBad, "the GPU has fallen off the bus"},
    {80, FaultClass::kSuspect, "corrupted data sent to the GPU"},
    {92, FaultClass::kSuspect, "high rate of single-bit ECC errors"},
    {94, FaultClass::kSuspect, "contained memory error"},
    {95, FaultClass::kBad, "uncontained memory error"},
    {109, kProgram, "context switch timeout"},
    {110, FaultClass::kBad, "security fault"},
    {119, FaultClass::kBad, "timeout of the GPU's system processor"},
    {120, FaultClass::kBad, "error of the GPU's system processor"},
    {121, FaultClass::kSuspect, "chip-to-chip link error"},
    {136, FaultClass::kBad, "link training failed"},
    {137, kProgram, "illegal access over NVLink"},
    {140, FaultClass::kBad, "unrecovered ECC error"},
    {143, FaultClass::kBad, "the GPU could not be initialized"},
    {144, FaultClass::kSuspect, "NVLink error"},
    {145, FaultClass::kSuspect, "NVLink error"},
    {146, FaultClass::kSuspect, "NVLink error"},
    {147, FaultClass::kSuspect, "NVLink error"},
    {148, FaultClass::kSuspect, "NVLink error"},
    {149, FaultClass::kSuspect, "NVLink error"},
    {150, FaultClass::kSuspect, "NVLink error"},
    {154, FaultClass::kSuspect, "the driver asks for a reset or a restart"},
    {158, FaultClass::kBad, "fatal timeout of the GPU"},
};

const Xid* Find(int64_t number) {
  const auto* xid = std::ranges::find(kXids, number, &Xid::number);
  return xid == std::end(kXids) ? nullptr : xid;
}

}  // namespace

std::string_view Name(FaultClass fault_class) {
  switch (fault_class) {
    case FaultClass::kApplication: return "application";
    case FaultClass::kSuspect: return "suspect";
    case FaultClass::kBad: return "bad";
  }
  return "";
}

FaultClass ClassOf(int64_t xid) {
  const Xid* found = Find(xid);
  return found == nullptr ? FaultClass::kSuspect : found->fault_class;
}

std::string_view MeaningOf(int64_t xid) {
  const Xid* found = Find(xid);
  return found == nullptr ? "see NVIDIA's list of XID errors" : found->meaning;
}

std::string XidText(int64_t xid) {
  return "XID " + std::to_string(xid) + " (" + std::string(MeaningOf(xid)) + ")";
}

}  // namespace trainctl::job
