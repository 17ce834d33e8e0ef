#include "client/top/device_rows.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>

#include "client/show/calendar_time.h"
#include "client/show/decoded.h"
#include "client/show/format.h"
#include "client/show/worker_state.h"
#include "client/top/grid.h"
#include "client/top/spark_line.h"
#include "common/base/size.h"

namespace trainctl::client {
namespace {

constexpr int kWidePaper = 100;  // columns

// The unit of base::FormatBytes.
std::pair<double, const char*> UnitOf(int64_t bytes) {
  constexpr double kKib = 1024, kMib = 1024 * kKib, kGib = 1024 * kMib;
  const auto size = static_cast<double>(bytes);
  if (size < kMib) return {kKib, "KiB"};
  return size < kGib / 10 ? std::pair(kMib, "MiB") : std::pair(kGib, "GiB");
}

// "43.8/139.8 GiB"; "12.00 MiB/139.8 GiB" where one unit would not show what is used.
std::string UsedText(int64_t used, int64_t total) {
  if (total <= 0) return "";
  const auto [unit, name] = UnitOf(total);
  const bool shows = used <= 0 || static_cast<double>(used) / unit >= 0.05;
  char number[32], whole[32];
  std::snprintf(number, sizeof number, "%.1f", static_cast<double>(used) / unit);
  std::snprintf(whole, sizeof whole, "/%.1f %s", static_cast<double>(total) / unit, name);
  return (shows ? std::string(number) : base::FormatBytes(used)) + whole;
}

// The sums of a host's devices, and what it tells of itself.
struct HostLoad {
  WorkerCounts count;
  int foreign = 0;
  int64_t memory_used = 0, memory_total = 0;  // of GPUs
  double utilization = 0, watts = 0;
  int with_utilization = 0, with_watts = 0;
  std::optional<v1::HostSample> host;

  void Add(const v1::WorkerView& worker) {
    count.Add(worker);
    foreign += worker.device_sample().foreign_size() > 0;
    if (worker.has_host_sample()) host = worker.host_sample();
    if (!IsSampledGpu(worker)) return;
    const v1::DeviceSample& sample = worker.device_sample();
    memory_used += sample.memory_used_bytes();
    memory_total += worker.device().memory_bytes();
    utilization += sample.utilization_percent();
    with_utilization += sample.has_utilization_percent();
    watts += sample.power_watts();
    with_watts += sample.has_power_watts();
  }
};

// In the order of the site.
std::vector<std::pair<std::string, HostLoad>> HostsOf(const SiteView& site) {
  std::vector<std::pair<std::string, HostLoad>> hosts;
  for (const v1::WorkerView& worker : site.workers) {
    if (hosts.empty() || hosts.back().first != worker.host())
      hosts.emplace_back(worker.host(), HostLoad());
    hosts.back().second.Add(worker);
  }
  return hosts;
}

std::string WattsText(bool known, double watts) {
  return known ? FormatNumber(std::round(watts)) + " W" : "";
}

// "j12 my-lab-a (anna)", or why the device is not free.
TextCell HolderCell(const SiteView& site, const v1::WorkerView& worker) {
  std::string text = worker.job();
  const v1::JobView* job = site.Find(worker.job());
  if (job != nullptr) text += " " + job->name();
  if (job != nullptr && !job->owner().empty()) text += " (" + job->owner() + ")";
  if (worker.reason().empty()) return text;
  return {text + (text.empty() ? "" : ": ") + InLocalTime(worker.reason()),
          worker.has_drain() || worker.has_slowness() ? Style::kWarning
                                                      : StyleOfWorkerState(worker.state())};
}

// On 80 columns the last three minutes.
int BucketsOn(const Paper& paper) { return IsWide(paper) ? kLoadBuckets : 6; }

std::string CurveText(const SiteView& site, const std::string& name, const Paper& paper) {
  const auto curve = site.loads.find(name);
  return curve == site.loads.end() ? "" : SparkLine(curve->second, paper.unicode, BucketsOn(paper));
}

std::vector<TextCell> HostRow(const SiteView& site, const std::string& name, const HostLoad& load,
                              const Paper& paper) {
  std::vector<TextCell> cells = {{name, Style::kStrong}, {"host", Style::kFaint}};
  if (!load.host) return cells;
  cells.emplace_back(LoadText(load.host->cpu_percent(), paper));
  cells.emplace_back(CurveText(site, name, paper));
  cells.emplace_back(UsedText(load.host->memory_used_bytes(), load.host->memory_total_bytes()));
  return cells;
}

std::vector<TextCell> DeviceRow(const SiteView& site, const v1::WorkerView& worker,
                                const Paper& paper) {
  const v1::DeviceSample& sample = worker.device_sample();
  const bool gpu = IsSampledGpu(worker);
  const size_t slash = worker.name().rfind('/');
  const std::string name =
      slash == std::string::npos ? worker.name() : worker.name().substr(slash + 1);
  return {"  " + name,
          {worker.state(), StyleOfWorkerState(worker.state())},
          DeviceLoadText(worker, paper),
          gpu ? CurveText(site, worker.name(), paper) : "",
          DeviceMemoryText(worker),
          WattsText(gpu && sample.has_power_watts(), sample.power_watts()),
          gpu && sample.has_temperature_celsius()
              ? FormatWithUnit(sample.temperature_celsius(), "°C")
              : "",
          worker.device().name(),
          HolderCell(site, worker)};
}

// "pid 4711 python (bo)".
std::vector<TextCell> ForeignRow(const v1::ForeignProcess& process) {
  std::string text = "pid " + std::to_string(process.pid());
  if (!process.program().empty()) text += " " + process.program();
  if (!process.user().empty()) text += " (" + process.user() + ")";
  const bool told = process.memory_bytes() > 0;
  return {"",
          {"foreign", Style::kWarning},
          "",
          "",
          told ? base::FormatBytes(process.memory_bytes()) : "",
          "",
          "",
          "",
          {text, Style::kWarning}};
}

// On 80 columns the last minutes' load stands rather than the temperature: it tells that a job
// stalls.
std::vector<std::string> AllDevices(const SiteView& site, const Paper& paper) {
  const int buckets = BucketsOn(paper);
  RowGrid grid({{.header = "DEVICE", .least = 6, .cut = true},
                {.header = "STATE", .least = 5},
                {.header = "LOAD"},
                {.header = IsWide(paper) ? "5 MIN" : "3 MIN", .least = buckets, .goes = 3},
                {.header = "MEMORY", .right = true, .least = 14},
                {.header = "POWER", .right = true, .least = 5},
                {.header = "TEMP", .right = true, .least = 5, .goes = 4},
                {.header = "MODEL", .least = 15, .cut = true, .goes = 5},
                {.header = "JOB", .least = 18, .cut = true}});
  const auto hosts = HostsOf(site);
  auto host = hosts.begin();
  for (size_t i = 0; i < site.workers.size(); ++i) {
    const v1::WorkerView& worker = site.workers[i];
    if (i == 0 || worker.host() != site.workers[i - 1].host()) {
      grid.AddRow(HostRow(site, host->first, host->second, paper));
      ++host;
    }
    grid.AddRow(DeviceRow(site, worker, paper));
    for (const v1::ForeignProcess& process : worker.device_sample().foreign())
      grid.AddRow(ForeignRow(process));
  }
  return grid.Lines({.width = paper.columns, .colour = paper.colour});
}

std::string DevicesText(const HostLoad& load) {
  const WorkerCounts& count = load.count;
  std::string text = std::to_string(count.busy) + " of " + std::to_string(count.devices) + " busy" +
                     count.TroubleText("not free");
  if (load.foreign > 0) text += ", " + std::to_string(load.foreign) + " used by others";
  return text;
}

std::vector<std::string> HostsAlone(const SiteView& site, const Paper& paper) {
  RowGrid grid({{.header = "HOST", .least = 6, .cut = true},
                {.header = "DEVICES"},
                {.header = "LOAD"},
                {.header = "MEMORY", .right = true, .least = 14},
                {.header = "POWER", .right = true, .least = 5},
                {.header = "HOST CPU", .goes = 2},
                {.header = "HOST MEMORY", .right = true, .goes = 3}});
  for (const auto& [name, load] : HostsOf(site)) {
    const bool bad = load.count.lost + load.count.bad + load.count.dirty > 0;
    const double mean = load.utilization / std::max(1, load.with_utilization);
    grid.AddRow({{name, Style::kStrong},
                 {DevicesText(load), bad ? Style::kBad : Style::kPlain},
                 load.with_utilization > 0 ? LoadText(mean, paper) : "",
                 UsedText(load.memory_used, load.memory_total),
                 WattsText(load.with_watts > 0, load.watts),
                 load.host ? LoadText(load.host->cpu_percent(), paper) : "",
                 load.host
                     ? UsedText(load.host->memory_used_bytes(), load.host->memory_total_bytes())
                     : ""});
  }
  return grid.Lines({.width = paper.columns, .colour = paper.colour});
}

}  // namespace

bool IsWide(const Paper& paper) { return paper.columns == 0 || paper.columns >= kWidePaper; }

std::string LoadText(double percent, const Paper& paper) {
  constexpr const char* kEighths[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int width = IsWide(paper) ? 10 : 5;
  const double share = std::isfinite(percent) ? std::clamp(percent / 100, 0.0, 1.0) : 0;
  const int eighths = static_cast<int>(std::lround(share * width * 8));
  std::string bar;
  for (int i = 0; i < width; ++i) {
    const int here = std::clamp(eighths - 8 * i, 0, 8);
    if (paper.unicode) {
      bar += here == 8 ? "█" : kEighths[here];
    } else {
      bar += here >= 4 ? "#" : ".";
    }
  }
  char number[16];
  std::snprintf(number, sizeof number, " %3.0f %%", std::clamp(percent, -1.0, 9999.0));
  return bar + number;
}

std::string DeviceLoadText(const v1::WorkerView& worker, const Paper& paper) {
  const v1::DeviceSample& sample = worker.device_sample();
  return IsSampledGpu(worker) && sample.has_utilization_percent()
             ? LoadText(sample.utilization_percent(), paper)
             : "";
}

std::string DeviceMemoryText(const v1::WorkerView& worker) {
  if (!IsSampledGpu(worker)) return "";
  return UsedText(worker.device_sample().memory_used_bytes(), worker.device().memory_bytes());
}

std::vector<std::string> DeviceRows(const SiteView& site, const Paper& paper, int most,
                                    TopState* state) {
  state->devices_page = state->devices_most = 0;
  if (site.workers.empty()) return {"no workers: jobs stay queued until a trainworker registers"};
  std::vector<std::string> rows = AllDevices(site, paper);
  const auto fits = [most](const auto& all) {
    return most <= 0 || all.size() <= static_cast<size_t>(most);
  };
  if (fits(rows)) return rows;
  if (!state->all_devices) rows = HostsAlone(site, paper);
  if (fits(rows)) return rows;
  // The header, a page, and what is left out.
  const int page = std::max(1, most - 2), count = static_cast<int>(rows.size()) - 1;
  state->devices_page = page;
  state->devices_most = std::max(0, count - page);
  state->devices_first = std::clamp(state->devices_first, 0, state->devices_most);
  const auto begin = rows.begin() + 1 + state->devices_first;
  std::vector<std::string> shown = {rows.front()};
  shown.insert(shown.end(), begin, begin + std::min(page, count));
  const int above = state->devices_first, below = count - page - above;
  std::string more = "…";
  if (above > 0) more += " " + std::to_string(above) + " above";
  if (below > 0) more += (above > 0 ? ", " : " ") + std::to_string(below) + " below";
  more += " · < > scroll";
  shown.push_back(paper.columns > 0 ? Truncate(more, paper.columns) : more);
  shown.resize(std::min(shown.size(), static_cast<size_t>(std::max(1, most))));
  return shown;
}

}  // namespace trainctl::client
