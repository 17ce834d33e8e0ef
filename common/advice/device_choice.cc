#include "common/advice/device_choice.h"
#include "common/base/plural.h"
#include "common/base/size.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace trainctl::advice {

std::string_view WhyKeptOut(job::WorkerState state) {
  using enum job::WorkerState;
  switch (state) {
    case kLost:
    case kBad:
    case kSuspect:
    case kDrained: return Name(state);
    case kReady:
    case kBusy:
    case kDirty:
    case kLeased: return "";
  }
  return "";
}

std::string NotOfLease(const std::string& lease) { return "not of lease " + lease; }

std::string LeftOutText(const std::map<std::string, int64_t>& left_out) {
  std::string text;
  for (const auto& [why, devices] : left_out)
    text += (text.empty() ? "" : ", ") + std::to_string(devices) + " " + why;
  return text;
}

bool IsClosed(const base::Status& verdict, bool another_admits) {
  return !verdict.ok() && (another_admits || verdict.error().code != base::Code::kDenied);
}

namespace {

using Places = std::vector<size_t>;

Places MeetingConstraints(const job::JobSpec& job, const std::vector<OfferedDevice>& site,
                          std::string* reason) {
  Places places;
  for (size_t i = 0; i < site.size(); ++i) {
    if (job::MeetsConstraints(job, site[i].device, reason)) places.push_back(i);
  }
  return places;
}

// Devices whose hosts say the same of the job.
struct Closed {
  std::set<std::string> hosts;
  int64_t devices = 0;
};

// Those whose hosts' rules let the job in; the others are counted.
Places OnOpenHosts(const std::vector<OfferedDevice>& site, const Places& places,
                   std::map<std::string, int64_t>* left_out) {
  const bool is_admitted =
      std::ranges::any_of(places, [&site](size_t i) { return site[i].rules.ok(); });
  Places open;
  std::map<std::string, Closed> closed;
  for (const size_t i : places) {
    const OfferedDevice& offered = site[i];
    if (!IsClosed(offered.rules, is_admitted)) {
      open.push_back(i);
      continue;
    }
    Closed& alike = closed[offered.rules.error().message];
    alike.hosts.insert(offered.device.host);
    ++alike.devices;
  }
  for (const auto& [why, alike] : closed) {
    const int64_t others = std::ssize(alike.hosts) - 1;
    const std::string more = others == 0 ? "" : " and " + base::Plural(others, "other host");
    (*left_out)["not on " + *alike.hosts.begin() + more + ": " + why] = alike.devices;
  }
  return open;
}

using Model = std::tuple<bool, int64_t, std::string>;  // a GPU, its memory, its name

std::string NameOf(const job::SiteDevice& device) {
  if (device.kind != job::DeviceKind::kCuda) return device.name;
  return device.name + " (" + base::FormatBytes(device.memory_bytes) + ")";
}

std::string OfAnotherModel(const job::SiteDevice& device) {
  const std::string text = NameOf(device) + ": another model";
  if (device.kind != job::DeviceKind::kCuda) return text;
  return text + "; resources.constraints \"gpu.name\": \"=" + device.name + "\" names it";
}

}  // namespace

std::string TextOf(const DeviceModel& model) {
  return std::to_string(model.devices) + " × " + NameOf(model.device);
}

base::Result<DeviceChoice> ChooseDevices(const job::JobSpec& job,
                                         const std::vector<OfferedDevice>& site) {
  std::map<Model, Places> groups;
  std::string reason = "no worker is registered";
  DeviceChoice choice;
  const Places meeting = MeetingConstraints(job, site, &reason);
  for (const size_t i : OnOpenHosts(site, meeting, &choice.left_out)) {
    const job::SiteDevice& device = site[i].device;
    if (!site[i].why_not.empty()) {
      ++choice.left_out[site[i].why_not];
      continue;
    }
    groups[{device.kind == job::DeviceKind::kCuda, device.memory_bytes, device.name}].push_back(i);
  }
  if (groups.empty()) {
    if (!choice.left_out.empty()) reason = LeftOutText(choice.left_out);
    return base::Error{base::Code::kInvalid, "no device of this site can run the job: " + reason};
  }
  const auto rank_of = [&job](const auto& group) {
    const auto& [is_gpu, memory, name] = group.first;
    return std::tuple(std::ssize(group.second) >= job.devices, is_gpu, memory);
  };
  const auto chosen = std::ranges::max_element(groups, {}, rank_of);
  for (const auto& [model, places] : groups) {
    if (model == chosen->first) continue;
    const job::SiteDevice& device = site[places.front()].device;
    choice.left_out[OfAnotherModel(device)] = std::ssize(places);
    choice.others.push_back({device, std::ssize(places)});
  }
  std::ranges::stable_sort(choice.others, std::greater(), &DeviceModel::devices);
  choice.places = std::move(chosen->second);
  return choice;
}

}  // namespace trainctl::advice
