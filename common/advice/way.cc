#include "common/advice/way.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <map>
#include <utility>

#include "common/base/plural.h"
#include "common/job/check_job.h"
#include "common/job/job_json.h"

namespace trainctl::advice {
namespace {

constexpr double kLeastSaving = 0.01;  // of memory, for a way that is slower

constexpr std::array<std::pair<std::string_view, Liberty>, 4> kNames = {
    {{"lora", Liberty::kLora},
     {"qlora", Liberty::kQlora},
     {"precision", Liberty::kPrecision},
     {"optimizer", Liberty::kOptimizer}}};

// What follows from another override, or has a key that clears it.
bool IsImplied(const std::string& key, const job::JobSpec& job, const Way& way) {
  if (key == "train.accumulate_grad_batches") return !way.job.train.accumulate_grad_batches;
  if (key == "strategy") {
    job::JobSpec moved = job;
    moved.devices = way.job.devices;
    return job::ResolveJob(moved).strategy == way.job.strategy;
  }
  if (key == "sharding") return way.job.strategy != job::StrategyKind::kFsdp;
  return key.starts_with("lora") && !job.lora;
}

std::string Number(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", number);
  return text;
}

std::string RunsText(const job::TimeEstimate& time) {
  return base::Plural(time.earlier_runs, "run") + (time.disturbed ? ", disturbed" : "");
}

}  // namespace

std::optional<Liberty> ParseLiberty(std::string_view name) {
  for (const auto& [its_name, liberty] : kNames) {
    if (its_name == name) return liberty;
  }
  return std::nullopt;
}

std::optional<double> Way::energy_joules() const {
  if (!time || !time->device_watts) return std::nullopt;
  return *time->device_watts * device_seconds();
}

double Way::device_seconds() const {
  return time ? time->total_seconds * static_cast<double>(job.devices) : 0;
}

std::vector<size_t> PlacesOfFront(const std::vector<Way>& ways) {
  std::vector<std::pair<std::pair<double, int64_t>, size_t>> order;
  for (size_t i = 0; i < ways.size(); ++i) {
    if (ways[i].time) order.push_back({{ways[i].time->total_seconds, ways[i].peak_bytes()}, i});
  }
  std::ranges::sort(order);
  std::vector<size_t> front;
  auto least = std::numeric_limits<double>::infinity();
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (const auto& [cost, place] : order) {
    const auto peak = static_cast<double>(cost.second);
    const bool saves_memory = peak < (1 - kLeastSaving) * least;
    const bool saves_devices = ways[place].job.devices < fewest;
    if (!saves_memory && !saves_devices) continue;
    least = std::min(least, peak);
    fewest = std::min(fewest, ways[place].job.devices);
    front.push_back(place);
  }
  return front;
}

std::vector<Way> ParetoFront(std::vector<Way> ways) {
  std::vector<Way> front;
  for (const size_t place : PlacesOfFront(ways)) front.push_back(std::move(ways[place]));
  return front;
}

std::string OverridesOf(const job::JobSpec& job, const Way& way) {
  std::map<std::string, std::string> asked;
  for (const auto& [key, text] : job::Flatten(job)) asked[key] = text;
  std::string overrides;
  const auto add = [&](const std::string& key, const std::string& text) {
    overrides += (overrides.empty() ? "--" : " --") + key + " " + text;
  };
  for (const auto& [key, text] : job::Flatten(way.job)) {
    const auto before = asked.find(key);
    if ((before != asked.end() && before->second == text) || IsImplied(key, job, way)) continue;
    add(key, text);
  }
  if (!job.lora && way.job.lora) add("lora", "'{}'");
  return overrides;
}

bool IsScaled(const Way& way) {
  return way.time && way.time->earlier_runs == 0 && Number(way.rates_factor) != "1";
}

std::string SourceOfTime(const Way& way) {
  if (!way.time) return "–";
  if (way.time->earlier_runs > 0) return RunsText(*way.time);
  const std::string rates =
      IsScaled(way) ? "rates × " + Number(way.rates_factor) : std::string("rates");
  if (!way.slowed) return rates;
  return rates + " (" + RunsText(*way.slowed) + ": " + Number(way.slowed->step_seconds) +
         " s a step)";
}

}  // namespace trainctl::advice
