#include "common/advice/earlier_times.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "common/advice/calibration.h"

namespace trainctl::advice {
namespace {

constexpr size_t kMostAsked = 500;  // ways of which earlier runs are asked for

void SortByTime(std::vector<Way>* ways) {
  std::ranges::stable_sort(*ways, {},
                           [](const Way& way) { return way.time ? way.time->total_seconds : 0; });
}

// Those of which earlier runs are asked for: the one as asked, the front by rates, where slow ways
// are that save memory, and then the fastest.
std::vector<Way*> AskedFirst(Ways* ways) {
  SortByTime(&ways->fitting);
  std::vector<Way*> asked = {&ways->asked};
  std::set<size_t> front;
  for (const size_t place : PlacesOfFront(ways->fitting)) {
    front.insert(place);
    asked.push_back(&ways->fitting[place]);
  }
  for (size_t i = 0; i < ways->fitting.size() && asked.size() < kMostAsked; ++i) {
    if (!front.contains(i)) asked.push_back(&ways->fitting[i]);
  }
  return asked;
}

// Of a way on as many devices, with its weights in as many bits, a process starts and loads alike.
using StartAlike = std::pair<int64_t, std::optional<job::Quantize>>;

StartAlike StartOf(const Way& way) { return {way.job.devices, way.job.quantize}; }

// Ways that were not asked for start as those that were, as the first of them at the least. A start
// that is known of one and guessed of another would put them in a wrong order.
void ShareStarts(const std::vector<Way*>& asked, Ways* ways) {
  std::map<StartAlike, const job::TimeEstimate*> known;
  const job::TimeEstimate* first = nullptr;
  for (const Way* way : asked) {
    if (!way->time || way->time->start_runs == 0) continue;
    if (first == nullptr) first = &*way->time;
    known.emplace(StartOf(*way), &*way->time);
  }
  if (first == nullptr) return;
  const std::set<const Way*> were_asked(asked.begin(), asked.end());
  for (Way& way : ways->fitting) {
    if (!way.time || were_asked.contains(&way)) continue;
    const auto found = known.find(StartOf(way));
    const job::TimeEstimate& told = found == known.end() ? *first : *found->second;
    job::CountStart({way.time->device_name, told.start_seconds, told.load_seconds, told.start_runs,
                     told.start_source},
                    &*way.time);
  }
}

}  // namespace

void TakeEarlierTimes(const std::vector<job::SiteDevice>& devices, const PredictTimes& predict,
                      Ways* ways) {
  const std::vector<Way*> asked = AskedFirst(ways);
  std::vector<TimeQuestion> questions;
  for (const Way* way : asked) {
    questions.push_back(
        {way->job, way->memory, job::DeviceNameOf(way->job, devices.front(), devices)});
  }
  const TimesTold told = predict(questions);
  for (size_t i = 0; i < asked.size(); ++i) asked[i]->time = told.times[i];
  ShareStarts(asked, ways);
  Calibrate(ways);
  SortByTime(&ways->fitting);
  if (ways->asked.time) job::CountPower(told.powers, &*ways->asked.time);
  for (Way& way : ways->fitting) {
    if (way.time) job::CountPower(told.powers, &*way.time);
  }
}

}  // namespace trainctl::advice
