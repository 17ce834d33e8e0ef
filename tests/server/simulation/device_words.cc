#include "tests/server/simulation/device_words.h"

#include "tests/server/simulation/site_facts.h"

namespace trainctl::core {
namespace {

bool IsOfItsWorker(const State& state, const RankReported& report) {
  const RankRow* row = FindLiveRow(state, report.key);
  return row != nullptr && row->worker == report.worker;
}

}  // namespace

void DeviceWords::Note(const State& state, const Event& event) {
  if (const auto* hello = std::get_if<WorkerHello>(&event)) return Note(*hello);
  if (const auto* gone = std::get_if<WorkerStreamLost>(&event))
    return static_cast<void>(words_.erase(gone->worker));
  if (const auto* report = std::get_if<RankReported>(&event)) return NoteReport(state, *report);
  if (const auto* change = std::get_if<DeviceStateChanged>(&event))
    words_[change->worker].is_free = change->free;
}

void DeviceWords::Note(const WorkerHello& hello) {
  Word& word = words_[hello.worker.name];
  word = {.is_free = hello.device_free, .over = {}};
  for (const HeldRank& held : hello.held) {
    if (!held.running) word.over.insert(held.key);
  }
}

// A rank that starts takes the device; a worker that is not able to start one has none to give. Of
// a rank whose end came before the worker's Hello, that had the later word.
void DeviceWords::NoteReport(const State& state, const RankReported& report) {
  Word& word = words_[report.worker];
  const auto* failure = std::get_if<job::LaunchFailure>(&report.body);
  const bool starts = std::holds_alternative<job::RankStarted>(report.body);
  const bool is_unfit = failure != nullptr && failure->worker_fault;
  const bool is_news = !word.over.contains(report.key) && IsOfItsWorker(state, report);
  if ((starts || is_unfit) && is_news) word.is_free = false;
}

bool DeviceWords::IsFree(const std::string& worker) const {
  const auto found = words_.find(worker);
  return found != words_.end() && found->second.is_free;
}

}  // namespace trainctl::core
