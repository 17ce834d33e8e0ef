#include "common/advice/way.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

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

std::vector<Way> ParetoFront(std::vector<Way> ways) {
  std::erase_if(ways, [](const Way& way) { return !way.time; });
  // Places, not ways: ways are large to move.
  std::vector<std::pair<std::pair<double, int64_t>, size_t>> order;
  for (const Way& way : ways)
    order.push_back({{way.time->total_seconds, way.peak_bytes()}, order.size()});
  std::ranges::sort(order);
  std::vector<Way> front;
  auto least = std::numeric_limits<double>::infinity();
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (const auto& [cost, place] : order) {
    Way& way = ways[place];
    const auto peak = static_cast<double>(cost.second);
    const bool saves_memory = peak < (1 - kLeastSaving) * least;
    const bool saves_devices = way.job.devices < fewest;
    if (!saves_memory && !saves_devices) continue;
    least = std::min(least, peak);
    fewest = std::min(fewest, way.job.devices);
    front.push_back(std::move(way));
  }
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

}  // namespace trainctl::advice
