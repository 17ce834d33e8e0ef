#include "client/submit/advice.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <utility>

#include "client/show/format.h"
#include "client/submit/inspection.h"
#include "client/submit/place.h"
#include "client/submit/reach.h"
#include "common/advice/device_choice.h"
#include "common/advice/earlier_times.h"
#include "common/base/size.h"
#include "common/estimate/micro_batch_choice.h"
#include "common/job/job_json.h"
#include "common/record/way_record.h"

namespace trainctl::client {
namespace {

// The equal devices that the job may use.
struct DeviceGroup {
  job::SiteDevice device;
  std::vector<SiteWorker> workers;
  std::map<std::string, int64_t> left_out;  // device_choice.h
  std::vector<advice::DeviceModel> others;  //
};

// The workers of the lease that the job names; nullopt: it names none, or nobody can say.
using LeasedWorkers = std::optional<std::set<std::string>>;
base::Result<LeasedWorkers> WorkersOfLease(Context& context, const job::JobSpec& job) {
  const std::optional<std::string>& name = job.resources.lease;
  if (!name) return LeasedWorkers();
  const base::Result<v1::LeasesResponse> leases = context.api->Leases();
  if (!leases.ok()) {
    Warn(context, leases.error().message);
    return LeasedWorkers();
  }
  const v1::Lease* own = OwnLease(job, *leases);
  if (own == nullptr) {
    return base::Error{base::Code::kInvalid, "resources.lease: '" + *name +
                                                 "': expected a lease that is not over; see: "
                                                 "trainctl lease ls"};
  }
  return LeasedWorkers(std::in_place, own->workers().begin(), own->workers().end());
}

// No way changes what it reads and writes: the rules of hosts are the same for all.
base::Result<DeviceGroup> BestDevices(Context& context, const job::JobSpec& job, const Site& site) {
  const base::Result<LeasedWorkers> leased = WorkersOfLease(context, job);
  if (!leased.ok()) return leased.error();
  std::vector<advice::OfferedDevice> offered;
  for (const SiteWorker& worker : site.workers) {
    const bool is_offered = !*leased || (*leased)->contains(worker.name);
    offered.push_back({worker.device,
                       is_offered ? worker.kept_out : advice::NotOfLease(*job.resources.lease),
                       CheckRules(job, worker)});
  }
  base::Result<advice::DeviceChoice> chosen = advice::ChooseDevices(job, offered);
  if (!chosen.ok()) return chosen.error();
  DeviceGroup group{.device = offered[chosen->places.front()].device,
                    .workers = {},
                    .left_out = std::move(chosen->left_out),
                    .others = std::move(chosen->others)};
  for (const size_t place : chosen->places) group.workers.push_back(site.workers[place]);
  return group;
}

std::vector<job::SiteDevice> DevicesOf(const DeviceGroup& group) {
  std::vector<job::SiteDevice> devices;
  for (const SiteWorker& worker : group.workers) devices.push_back(worker.device);
  return devices;
}

void TakeEarlierRuns(Context& context, const DeviceGroup& group, const job::Inspection& inspection,
                     advice::Ways* ways) {
  const auto predict = [&](const std::vector<advice::TimeQuestion>& questions) {
    std::vector<Assessment> assessments;
    for (const advice::TimeQuestion& question : questions) {
      assessments.push_back({.job = question.job,
                             .inspection = inspection,
                             .prediction = question.memory,
                             .candidates = group.workers,
                             .device_name = question.device_name});
    }
    advice::TimesTold told{.times = {}, .powers = PredictTimes(context, &assessments)};
    for (const Assessment& assessment : assessments) told.times.push_back(assessment.time);
    return told;
  };
  advice::TakeEarlierTimes(DevicesOf(group), predict, ways);
}

// nullopt: no price was given, or the way has no time.
std::optional<double> PriceOf(const Advice& advice, const advice::Way& way) {
  if (!advice.price_per_device_hour || !way.time) return std::nullopt;
  return *advice.price_per_device_hour * way.device_seconds() / 3600;
}

std::string PriceText(const std::optional<double>& price) {
  if (!price) return "–";
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", *price);
  return text;
}

// "1.25 kWh"; of less "12.50 Wh", of little "830 J".
std::string EnergyText(const std::optional<double>& joules) {
  if (!joules) return "?";
  constexpr double kJoulesPerWh = 3600;
  const double watt_hours = *joules / kJoulesPerWh;
  char text[32];
  if (watt_hours < 1) {
    std::snprintf(text, sizeof text, "%.0f J", *joules);
  } else {
    const bool is_large = watt_hours >= 1000;
    std::snprintf(text, sizeof text, "%.2f %s", is_large ? watt_hours / 1000 : watt_hours,
                  is_large ? "kWh" : "Wh");
  }
  return text;
}

std::string EnergyRemark(const Advice& advice) {
  const std::optional<job::TimeEstimate>& time = advice.ways.asked.time;
  if (time && time->device_watts) {
    return "Energy: of the devices alone, at the power that earlier runs measured on " +
           advice.device_name + ".\n";
  }
  return advice.device_kind == job::DeviceKind::kCpu
             ? "Energy is not known: CPU slots measure no power.\n"
             : "Energy is not known: no run on " + advice.device_name +
                   " has ended yet that measured power.\n";
}

// "OPTIMIZER (HOST)".
std::string HeaderOf(const job::MemoryKind& kind) {
  std::string header(kind.label);
  std::ranges::transform(header, header.begin(), [](unsigned char c) { return std::toupper(c); });
  return header;
}

// A way with what it takes to get there.
struct Line {
  const advice::Way& way;
  std::string overrides;  // empty: it is as the file has it
  std::optional<double> price;
};

Line LineOf(const Advice& advice, const advice::Way& way) {
  return {way, advice::OverridesOf(advice.job, way), PriceOf(advice, way)};
}

std::string ChangesText(const std::string& overrides) {
  return overrides.empty() ? "(as the file has it)" : overrides;
}

Json Record(const Advice& advice, const Line& line) {
  Json record = record::WayRecord(advice.job, line.way);
  if (advice.price_per_device_hour)
    record["price"] = line.price ? Json(*line.price) : Json(nullptr);
  return record;
}

void AddRow(const Advice& advice, const Line& line, Style style, TextTable* table) {
  const advice::Way& way = line.way;
  std::vector<TextCell> cells = {
      way.time ? base::FormatDuration(std::llround(way.time->total_seconds)) : "–",
      way.time ? FormatWithUnit(way.time->step_seconds, "s") : "–",
      base::FormatBytes(way.peak_bytes())};
  for (const job::MemoryKind& kind : advice.kinds)
    cells.emplace_back(base::FormatBytes(record::HeldBytes(way, kind, advice.device_kind)));
  cells.emplace_back(std::to_string(way.job.devices));
  cells.emplace_back(EnergyText(way.energy_joules()));
  if (advice.price_per_device_hour) cells.emplace_back(PriceText(line.price));
  cells.emplace_back(advice::SourceOfTime(way));
  cells.emplace_back(ChangesText(line.overrides), style);
  table->AddRow(std::move(cells));
}

// Whether the job as the file has it is among the best; else it has the table's last row.
bool IsAmongShown(const Advice& advice) {
  return std::ranges::any_of(advice.shown, [&](const advice::Way& way) {
    return advice::OverridesOf(advice.job, way).empty();
  });
}

// The ways that the table has no row of, on one line. Of those left out the reasons follow.
std::string UnshownText(const Advice& advice) {
  const std::vector<advice::Way>& fitting = advice.ways.fitting;
  const int64_t last_row = advice.ways.asked_refused.empty() && !IsAmongShown(advice) ? 1 : 0;
  const int64_t hidden = std::ssize(fitting) - std::ssize(advice.shown) - last_row;
  const int64_t timeless =
      hidden == 0 ? 0 : std::ranges::count_if(fitting, [](const auto& way) { return !way.time; });
  int64_t left_out = 0;
  for (const LeftOut& one : advice.left_out) left_out += one.ways;
  std::vector<std::string> parts;
  const auto add = [&parts](int64_t ways, const char* why) {
    if (ways > 0) parts.push_back(WithThousands(ways) + " " + why);
  };
  add(hidden - timeless, "slower and no smaller than one above (--all shows them)");
  add(timeless, "without a predicted time (--all shows them)");
  add(left_out, "left out");
  return parts.empty() ? "" : "Not shown: " + Join(parts, "; ") + ".\n";
}

// Of the times in the table.
std::string SourcesText(const Advice& advice) {
  const auto any = [&](auto is_so) {
    return std::ranges::any_of(advice.shown, is_so) || is_so(advice.ways.asked);
  };
  std::string text;
  if (any([](const advice::Way& way) { return way.of_runs() != nullptr; }))
    text += "Times from runs are measured; the others are predicted from the device's rates.\n";
  if (any(advice::IsScaled))
    text += "Rates × N: the nearest ways that were measured took N times what rates say.\n";
  if (any([](const advice::Way& way) { return way.of_runs() && way.of_runs()->disturbed; }))
    text += "Disturbed: other work on the hosts of these runs slowed them; they scale nothing.\n";
  return text;
}

// Why a way has a limit that the job has not.
std::string LimitsText(const Advice& advice) {
  const std::optional<int64_t>& own = advice.job.resources.gpu_memory_limit_bytes;
  const bool any = std::ranges::any_of(advice.shown, [&](const advice::Way& way) {
    return way.job.resources.gpu_memory_limit_bytes != own;
  });
  return any ? "Under its gpu_memory_limit fsdp reduces gradients in each micro step, without it "
               "once a step.\n"
             : "";
}

}  // namespace

base::Result<Advice> Advise(Context& context, const job::JobSpec& asked,
                            const AdviceOptions& options) {
  const Site site = AskSite(context);
  if (!site.known)
    return base::Error{base::Code::kUnavailable, "advice is for a site: no coordinator answers"};
  const base::Result<DeviceGroup> group = BestDevices(context, asked, site);
  if (!group.ok()) return group.error();
  const base::Result<job::Inspection> inspection = Inspector(context, true).Inspect(asked);
  if (!inspection.ok()) return inspection.error();
  Advice advice{.job = asked,
                .device_name = group->device.name,
                .device_kind = group->device.kind,
                .devices = static_cast<int64_t>(group->workers.size()),
                .device_bytes = group->device.memory_bytes,
                .price_per_device_hour = options.price_per_device_hour};
  if (!asked.train.micro_batch_size) {
    const base::Result<job::MicroBatchChoice> choice = job::ChooseMicroBatch(
        asked, *inspection,
        std::vector<job::SiteDevice>(static_cast<size_t>(advice.devices), group->device));
    if (!choice.ok()) return choice.error();
    advice.job = choice->job;
  }
  const SiteBounds bounds = site.bounds.value_or(SiteBounds());
  base::Result<advice::Ways> ways =
      advice::FindWays({advice.job, *inspection, group->device, advice.devices, options.liberties,
                        DevicesOf(*group), bounds.user, bounds.policy, group->others});
  if (!ways.ok()) return ways.error();
  advice.ways = std::move(*ways);
  advice.left_out = LeftOutOf(advice.ways.excluded, group->left_out);
  TakeEarlierRuns(context, *group, *inspection, &advice.ways);
  const std::vector<advice::Way>& fitting = advice.ways.fitting;
  advice.shown = options.all ? fitting : advice::ParetoFront(fitting);
  if (options.by_kind) {
    std::vector<advice::Way> rows = advice.shown;
    rows.push_back(advice.ways.asked);
    advice.kinds = record::KindsOf(rows, advice.device_kind);
  }
  return advice;
}

std::string IntroductionOf(const Advice& advice) {
  const auto fitting = static_cast<int64_t>(advice.ways.fitting.size());
  return advice.job.name + " on " + std::to_string(advice.devices) + " × " + advice.device_name +
         " (" + base::FormatBytes(advice.device_bytes) +
         "): " + WithThousands(advice.ways.considered) + " ways, " + WithThousands(fitting) +
         (fitting == 1 ? " fits.\n\n" : " fit.\n\n");
}

Listing ListingOf(const Advice& advice) {
  std::vector<TextColumn> columns = {{"TIME", true}, {"A STEP", true}, {"PEAK A DEVICE", true}};
  for (const job::MemoryKind& kind : advice.kinds) columns.push_back({HeaderOf(kind), true});
  columns.push_back({"DEVICES", true});
  columns.push_back({"ENERGY", true});
  if (advice.price_per_device_hour) columns.push_back({"PRICE", true});
  columns.push_back({"TIME FROM"});
  columns.push_back({"CHANGES"});
  Listing listing{
      .collection = "ways", .table = TextTable(std::move(columns)), .name_key = "overrides"};
  listing.members["job"] = advice.job.name;
  listing.members["device"] = advice.device_name;
  listing.members["devices"] = advice.devices;
  listing.members["considered"] = advice.ways.considered;
  listing.members["fit"] = advice.ways.fitting.size();
  const Line asked = LineOf(advice, advice.ways.asked);
  const std::string& refused = advice.ways.asked_refused;
  listing.members["as_asked"] = Record(advice, asked);
  listing.members["as_asked"]["refused"] = refused.empty() ? Json() : Json(refused);
  Json& left_out = listing.members["left_out"] = Json::array();
  for (const LeftOut& one : advice.left_out) left_out.push_back(RecordOf(one));
  for (const advice::Way& way : advice.shown) {
    const Line line = LineOf(advice, way);
    AddRow(advice, line, Style::kPlain, &listing.table);
    listing.records.push_back(Record(advice, line));
  }
  if (!IsAmongShown(advice))
    AddRow(advice, asked, refused.empty() ? Style::kFaint : Style::kBad, &listing.table);
  return listing;
}

std::string RemarksOn(const Advice& advice, const std::string& file) {
  std::string text = "\n";
  if (!advice.ways.asked_refused.empty())
    text += "As the file has it: " + advice.ways.asked_refused + ".\n";
  text += UnshownText(advice);
  for (const LeftOut& one : advice.left_out) text += TextOf(one) + "\n";
  return text + LimitsText(advice) + SourcesText(advice) + EnergyRemark(advice) +
         "Take one: trainctl submit " + file + " CHANGES\n";
}

namespace {

// A training of so many steps, over the rows again and again where they are few: no data validate,
// nothing is written, traced or expected of its end.
void KeepStepsAlone(int64_t steps, job::JobSpec* job) {
  job->train.max_steps = steps;
  job->train.epochs = std::max(job->train.epochs, steps);  // an epoch has at least one step
  job->data.val_split_fraction = 0;
  job->data.val_path.reset();
  job->data.val_split.reset();
  job->eval = {};
  job->output = {};
  job->checkpoint = {};
  job->track.clear();
  job->profile.reset();
  job->expect.reset();
}

}  // namespace

Sweep TrialOf(const Advice& advice, size_t ways, int64_t steps) {
  Sweep sweep{.name = advice.job.name, .axes = {{"changes", {}}}};
  for (const advice::Way& way : advice.shown) {
    if (sweep.points.size() == ways) break;
    SweepPoint point{.values = {ChangesText(advice::OverridesOf(advice.job, way))}, .job = way.job};
    point.job.name = advice.job.name + "-way-" + std::to_string(sweep.points.size() + 1);
    if (way.time) point.predicted_step_seconds = way.time->step_seconds;
    KeepStepsAlone(steps, &point.job);
    sweep.axes.front().values.push_back(point.values.front());
    sweep.points.push_back(std::move(point));
  }
  return sweep;
}

}  // namespace trainctl::client
