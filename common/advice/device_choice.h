// Which devices of a site the ways of a job are looked for on. Pure, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/job/host_rules.h"
#include "common/job/job.h"
#include "common/job/site.h"
#include "common/job/worker_state.h"

namespace trainctl::advice {

struct OfferedDevice {
  job::SiteDevice device;
  std::string why_not = {};         // no job can have it: "LOST"; empty: one can, now or later
  base::Status rules = base::Ok{};  // its host's verdict on the job (job::CheckByName)
};

// Equal devices that a job may use.
struct DeviceModel {
  job::SiteDevice device;  // one of them
  int64_t devices = 0;     // how many there are
};
// "2 × NVIDIA H200 (139.00 GiB)".
std::string TextOf(const DeviceModel& model);

struct DeviceChoice {
  std::vector<size_t> places;       // in the site
  std::vector<DeviceModel> others;  // models that were not chosen, those with most devices first
  // Devices that meet the constraints, by why the ways are not of them: "LOST", "not on beta and 2
  // other hosts: jobs of bob …", "NVIDIA A100 (80.00 GiB): another model; …".
  std::map<std::string, int64_t> left_out;
};

// The name of a state in which no job comes to the device until a person acts; else empty: BUSY,
// DIRTY and LEASED end by themselves.
std::string_view WhyKeptOut(job::WorkerState state);
// Of a device of no use to a job that names another's lease.
std::string NotOfLease(const std::string& lease);

// "14 not of lease lab, 1 LOST".
std::string LeftOutText(const std::map<std::string, int64_t>& left_out);

// Whether a host with this verdict of job::CheckByName is closed to the job. One whose roots don't
// hold a path by its name is passed over where another host admits the job. Where none does, it is
// tried.
bool IsClosed(const base::Status& verdict, bool another_admits);

// The equal devices that the job may use: of a model of which there are as many as it asks for,
// where there is one. Of those GPUs, else CPU slots; of several models the one with most memory.
// kInvalid: none meets the job's constraints and is there for it.
base::Result<DeviceChoice> ChooseDevices(const job::JobSpec& job,
                                         const std::vector<OfferedDevice>& site);

}  // namespace trainctl::advice
