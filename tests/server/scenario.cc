#include "tests/server/scenario.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "common/estimate/memory_estimate.h"
#include "common/job/constraint.h"
#include "server/core/drain.h"
#include "server/core/lease_wish.h"
#include "server/core/policy_file.h"
#include "server/core/reason_history.h"
#include "tests/job/tiny_llama.h"
#include "tests/server/describe.h"

namespace trainctl::core {
namespace {

using Words = std::vector<std::string>;
using Settings = std::map<std::string, std::string>;

Words Split(const std::string& text, char separator) {
  Words words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, separator);) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

// Takes "key=value" words out of the words after the first.
Settings TakeSettings(Words* words) {
  Settings settings;
  Words plain;
  for (const std::string& word : *words) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos) {
      plain.push_back(word);
    } else {
      settings[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
  *words = plain;
  return settings;
}

std::string Get(const Settings& settings, const std::string& key, const std::string& otherwise) {
  const auto found = settings.find(key);
  return found == settings.end() ? otherwise : found->second;
}

int64_t GetNumber(const Settings& settings, const std::string& key, int64_t otherwise) {
  return std::stoll(Get(settings, key, std::to_string(otherwise)));
}

job::RankKey ParseKey(const std::string& text) {
  const Words parts = Split(text, '/');
  return {*base::ParseJobId(parts.at(0)), std::stoll(parts.at(1)), std::stoll(parts.at(2))};
}

std::string Join(const Words& words, size_t from) {
  std::string text;
  for (size_t i = from; i < words.size(); ++i) text += (i > from ? " " : "") + words[i];
  return text;
}

std::vector<HeldRank> ParseHeld(const std::string& text) {
  std::vector<HeldRank> held;
  for (const std::string& item : Split(text, ',')) {
    const Words parts = Split(item, ':');
    held.push_back({ParseKey(parts.at(0)), parts.at(1) == "running"});
    if (parts.size() > 2) held.back().site = parts[2];
  }
  return held;
}

// "79@5,31@6": XIDs, and when.
std::vector<job::DeviceFault> ParseFaults(const std::string& text) {
  std::vector<job::DeviceFault> faults;
  for (const std::string& item : Split(text, ',')) {
    const Words parts = Split(item, '@');
    faults.push_back({std::stoll(parts.at(0)), std::stoll(parts.at(1)) * 1'000'000});
  }
  return faults;
}

// "0+1:NV,2+3:PIX": to the host's other GPUs, whose UUIDs are their workers' names.
job::Links ParseGroups(const Words& worker, const std::string& text) {
  job::Links near, all;
  for (const std::string& item : Split(text, ',')) {
    const Words parts = Split(item, ':');
    const Words group = Split(parts.at(0), '+');
    const bool is_own = std::ranges::count(group, worker.at(1)) > 0;
    for (const std::string& other : group) {
      const std::string uuid = worker.at(0) + "/" + other;
      if (other == worker.at(1)) continue;
      all[uuid] = job::LinkKind::kBetweenSockets;
      if (is_own) near[uuid] = job::FindLinkKind(parts.at(1)).value();
    }
  }
  near.insert(all.begin(), all.end());
  return near;
}

WorkerHello MakeHello(const std::string& name, const Settings& settings, bool is_dirty) {
  WorkerHello hello;
  const Words parts = Split(name, '/');
  hello.worker.name = name;
  hello.worker.host = parts.at(0);
  hello.worker.boot_id = Get(settings, "boot", "b1");
  hello.worker.identity = Get(settings, "identity", "");
  hello.incarnation = Get(settings, "process", "");
  hello.worker.device.kind =
      Get(settings, "kind", "cuda") == "cuda" ? job::DeviceKind::kCuda : job::DeviceKind::kCpu;
  hello.worker.device.index = std::stoll(parts.at(1));
  hello.worker.device.name = Get(settings, "model", "H200");
  hello.worker.device.threads = GetNumber(settings, "threads", 1);
  if (hello.worker.device.kind == job::DeviceKind::kCpu)
    hello.worker.device.name = job::CpuSlotName(hello.worker.device.threads);
  hello.worker.device.memory_bytes = GetNumber(settings, "memory_gib", 80) << 30;
  hello.worker.device.labels = job::ParseLabels(Get(settings, "labels", "")).value();
  hello.worker.device.links = ParseGroups(parts, Get(settings, "links", ""));
  hello.worker.device.uuid = Get(settings, "uuid", settings.contains("links") ? name : "");
  hello.faults = ParseFaults(Get(settings, "faults", ""));
  hello.rules.owners = Split(Get(settings, "allow", ""), ',');
  hello.rules.roots.read = Split(Get(settings, "read", ""), ',');
  hello.rules.roots.write = Split(Get(settings, "write", ""), ',');
  hello.held = ParseHeld(Get(settings, "held", ""));
  const bool is_busy = std::any_of(hello.held.begin(), hello.held.end(),
                                   [](const HeldRank& held) { return held.running; });
  hello.device_free = !is_dirty && !is_busy;
  hello.device_reason = is_dirty ? "12.0 GiB in use" : "";
  return hello;
}

job::JobSpec MakeSpec(const std::string& name, const Settings& settings) {
  job::JobSpec spec;
  spec.name = name;
  spec.devices = GetNumber(settings, "devices", 1);
  spec.exclusive = settings.contains("exclusive");
  spec.train.micro_batch_size = 1;
  if (settings.contains("priority")) spec.resources.priority = GetNumber(settings, "priority", 50);
  spec.resources.preemptible = settings.contains("preemptible");
  if (settings.contains("checkpoints"))
    spec.checkpoint.every_steps = GetNumber(settings, "checkpoints", 1);
  spec.resources.step_timeout_seconds = GetNumber(settings, "step_timeout", 600);
  spec.resources.max_restarts = GetNumber(settings, "max_restarts", 0);
  if (settings.contains("time_limit"))
    spec.resources.time_limit_seconds = GetNumber(settings, "time_limit", 0);
  if (settings.contains("expect"))
    spec.expect = settings.at("expect") == "OOM" ? job::Expect::kOom : job::Expect::kSucceeded;
  if (settings.contains("micro")) spec.train.micro_batch_size = GetNumber(settings, "micro", 1);
  if (settings.contains("auto")) spec.train.micro_batch_size = GetNumber(settings, "auto", 1);
  if (settings.contains("global")) spec.train.global_batch_size = GetNumber(settings, "global", 1);
  if (settings.contains("limit_gib"))
    spec.resources.gpu_memory_limit_bytes = GetNumber(settings, "limit_gib", 0) << 30;
  if (settings.contains("data")) {
    spec.model.path = spec.data.path = settings.at("data");
  }
  if (settings.contains("output")) {
    spec.output = {.dir = settings.at("output"), .save = job::Save::kFinal};
  }
  for (const std::string& word : Split(Get(settings, "after", ""), ',')) {
    const Words parts = Split(word, ':');
    spec.resources.after[parts[0]] = parts.size() > 1 ? job::After::kAny : job::After::kOk;
  }
  if (settings.contains("lease")) spec.resources.lease = settings.at("lease");
  if (settings.contains("memory")) spec.resources.constraints["gpu.memory"] = settings.at("memory");
  for (const auto& [key, value] : settings) {
    if (job::IsOfWorker(key) || key == job::kLinksKey) spec.resources.constraints[key] = value;
  }
  return spec;
}

// micro=N is of TinyLlama, whose memory is then predicted; else of a model of no size.
std::optional<job::Inspection> MakeInspection(const Settings& settings) {
  if (settings.contains("uninspected")) return std::nullopt;
  return settings.contains("micro") ? job::tiny_llama::TinyLlama() : job::Inspection();
}

// predicted=N seconds of the whole run, on predicted_on=MODEL.
std::optional<job::Prediction> MakePrediction(const Settings& settings) {
  if (!settings.contains("predicted")) return std::nullopt;
  return job::Prediction{
      .time = job::TimeEstimate{
          .total_seconds = static_cast<double>(GetNumber(settings, "predicted", 0)),
          .device_name = Get(settings, "predicted_on", "H200")}};
}

LeaseWish MakeWish(const Settings& settings, const Now& now) {
  constexpr int64_t kSecond = 1'000'000;
  return {.devices = GetNumber(settings, "devices", 1),
          .host = Get(settings, "host", ""),
          .model = Get(settings, "model", ""),
          .start = now.wall + GetNumber(settings, "start", 0) * kSecond,
          .length_us = GetNumber(settings, "for", 0) * kSecond};
}

// "ok", "bare", "fault", "none": an inspection of TinyLlama, one without weights, the job's fault,
// nobody looked.
base::Result<job::Inspection> MakeAnswer(const std::string& word) {
  if (word == "ok" || word == "bare") {
    job::Inspection inspection = job::tiny_llama::TinyLlama();
    inspection.rows = 1024;
    if (word == "bare") inspection.missing_weights = "no weights in '/models/tiny'";
    return inspection;
  }
  if (word == "fault") return base::Error{base::Code::kInvalid, "/data/rows.json: no such file"};
  return base::Error{base::Code::kUnavailable, "worker 'a/0' went away while it looked"};
}

job::ReportBody ParseBody(const Words& words, const job::RankKey& key) {
  const std::string& kind = words.at(0);
  const auto number = [&](size_t i, int64_t otherwise) {
    return i < words.size() ? std::stoll(words[i]) : otherwise;
  };
  if (kind == "started") return job::RankStarted{100 + key.rank};
  if (kind == "phase")
    return job::RankPhase{job::ParseRunPhase(words.at(1)).value(), number(2, 0), number(3, 0)};
  if (kind == "rendezvous") return job::RankRendezvous{words.at(1)};
  if (kind == "progress")
    return job::RankProgress{
        .step = number(1, 0),
        .first_step = number(4, 0),
        .steps = number(2, 0),
        .stage = job::ParseStage(words.size() > 3 ? words[3] : "compute").value()};
  if (kind == "metrics")
    return job::RankMetrics{std::vector<job::MetricPoint>(number(1, 1), {.name = "loss"})};
  if (kind == "stepped") {
    return job::RankMetrics{{{.name = "step_seconds",
                              .step = number(1, 0),
                              .value = static_cast<double>(number(2, 0)),
                              .time = number(3, 0) * 1'000'000}}};
  }
  if (kind == "worked") {
    job::RankMetrics metrics;
    for (int64_t i = 0; i < number(2, 1); ++i)
      metrics.points.push_back({.name = "work_seconds",
                                .step = number(1, 0) + i,
                                .rank = key.rank,
                                .value = std::stod(words.at(3))});
    return metrics;
  }
  if (kind == "saved") return job::RankSaved{"final", words.at(1)};
  if (kind == "continuation")
    return job::RankContinuation{number(1, 0), 0, words.at(2), words.at(3)};
  if (kind == "notice") return job::RankNotice{Join(words, 1)};
  if (kind == "outcome") return job::RankOutcome{*job::ParseOutcome(words.at(1)), Join(words, 2)};
  if (kind == "exit") return job::RankExit{.exit_code = number(1, 0)};
  if (kind == "signal") return job::RankExit{.signal = number(1, 0)};
  if (kind == "deadline")
    return job::RankExit{.signal = 15,
                         .deadline = job::ParseOutcome(words.at(1)),
                         .deadline_message = Join(words, 2)};
  if (kind == "oom_killed") return job::RankExit{.signal = 9, .oom_killed = true};
  if (kind == "lost_record") return job::RankExit{};
  if (kind == "worker_unfit") return job::LaunchFailure{Join(words, 1), true};
  EXPECT_EQ(kind, "launch_failure") << "no such report: " << Join(words, 0);
  return job::LaunchFailure{Join(words, 1)};
}

}  // namespace

std::string Scenario::Run(const std::string& line) {
  Words words = Split(line, ' ');
  const std::string verb = words.at(0);
  if (verb == "workers") return Workers(words);
  if (verb == "submit") return Submit(words);
  if (verb == "cancel") return Feed(CancelRequested{*base::ParseJobId(words.at(1))});
  if (verb == "rm") {
    JobsRemoved event;
    for (size_t i = 1; i < words.size(); ++i) event.jobs.push_back(*base::ParseJobId(words[i]));
    return Feed(event);
  }
  if (verb == "device") return Device(words);
  if (verb == "faults") return Faults(words);
  if (verb == "trouble") return Feed(HostTroubled{words.at(1), Join(words, 2)});
  if (verb == "inspected")
    return Feed(JobInspected{*base::ParseJobId(words.at(1)), words.at(2), MakeAnswer(words.at(3))});
  if (verb == "wait") return Wait(std::stoll(words.at(1)));
  if (verb == "restart") return Restart();
  if (verb == "reboot") {  // of the coordinator's host
    state_.options.boot_id += "+";
    now_.steady = 5'000'000;  // it begins anew with each boot
    return Restart();
  }
  if (verb == "policy") {
    state_.options.policy = ReadSitePolicy(line.substr(verb.size()), "policy").value();
    return Restart();
  }
  if (verb == "lent") {
    state_.options.lent_until = now_.wall + std::stoll(words.at(1)) * 1'000'000;
    return Restart();
  }
  if (verb == "clock") {
    now_.wall += std::stoll(words.at(1)) * 1'000'000;
    return "";
  }
  if (verb == "show") return Describe(state_, now_);
  if (verb == "explain") return Explain(*base::ParseJobId(words.at(1)));
  if (verb == "reasons") return Reasons(*base::ParseJobId(words.at(1)));
  if (verb == "lost") return FeedEach<WorkerStreamLost>(words);
  if (verb == "fence") return FeedEach<WorkerFenced>(words);
  if (verb == "drain") return Drain(words);
  if (verb == "lease") return MakeLease(words);
  if (verb == "block") return Block(words);
  if (verb == "extend") return Extend(words);
  if (verb == "unlease") {
    const Settings settings = TakeSettings(&words);
    return Feed(LeaseDeleted{FindLease(state_, words.at(1))->row.id, Get(settings, "user", "ops")});
  }
  if (verb == "undrain") return Undrain(words);
  if (verb == "remove") return FeedEach<WorkerRemoved>(words);
  return Report(words);
}

std::string Scenario::Feed(const Event& event) {
  Actions actions = Step(state_, event, now_);
  ledger_.Apply(actions.persist);
  if (!show_acks_)
    std::erase_if(actions.effects,
                  [](const Effect& effect) { return std::holds_alternative<AckReport>(effect); });
  return Describe(actions);
}

std::string Scenario::Workers(const Words& all) {
  Words words = all;
  const Settings settings = TakeSettings(&words);
  const bool is_dirty = words.back() == "dirty";
  if (is_dirty) words.pop_back();
  std::string text;
  for (size_t i = 1; i < words.size(); ++i) text += Feed(MakeHello(words[i], settings, is_dirty));
  return text;
}

std::string Scenario::Explain(base::JobId job) const {
  const auto wait = WaitOf(state_, *FindJob(state_, job), now_);
  return wait ? Describe(*wait, now_) : "waits for no device\n";
}

std::string Scenario::Reasons(base::JobId job) const {
  std::string text;
  for (const ReasonSince& reason : FindJob(state_, job)->reasons) {
    text +=
        "for " + std::to_string((now_.wall - reason.at) / 1'000'000) + " s: " + reason.text + "\n";
  }
  const std::string note = HistoryNote(state_, *FindJob(state_, job), now_);
  return text + note + (note.empty() ? "" : "\n");
}

std::string Scenario::Drain(const Words& all) {
  Words words = all;
  const Settings settings = TakeSettings(&words);
  return Feed(DevicesDrained{words.at(1), Get(settings, "user", ""), Join(words, 2)});
}

std::string Scenario::Undrain(const Words& words) {
  const DevicesUndrained event{words.at(1), words.size() > 2 && words[2] == "faults"};
  std::string text;
  const Undrained what = WhatUndrainEnds(state_, event);
  for (const std::string& each : what.kept) text += "still: " + each + "\n";
  for (const std::string& each : what.ended) text += "ends: " + each + "\n";
  return text + Feed(event);
}

std::string Scenario::MakeLease(const Words& all) {
  Words words = all;
  const Settings settings = TakeSettings(&words);
  LeaseWish wish = MakeWish(settings, now_);
  wish.user = Get(settings, "user", "");
  const auto row = NewLease(state_, wish, words.at(1), now_);
  if (!row) return "refused: " + row.error().message + "\n";
  return Feed(LeaseMade{*row});
}

std::string Scenario::Block(const Words& all) const {
  Words words = all;
  const Settings settings = TakeSettings(&words);
  LeaseWish wish = MakeWish(settings, now_);
  wish.user = Get(settings, "user", "");
  const auto block = FindBlock(state_, wish, now_);
  if (!block) return "refused: " + block.error().message + "\n";
  return "free from " + UtcText(block->start) + ": " + Join(block->workers, 0) + "\n";
}

std::string Scenario::Extend(const Words& words) {
  const Lease& lease = *FindLease(state_, words.at(1));
  const auto end = LaterEnd(state_, lease, {std::stoll(words.at(2)) * 1'000'000});
  if (!end) return "refused: " + end.error().message + "\n";
  return Feed(LeaseExtended{lease.row.id, *end});
}

std::string Scenario::Submit(const Words& all) {
  Words words = all;
  const Settings settings = TakeSettings(&words);
  const int64_t copies = GetNumber(settings, "copies", 1);
  JobsSubmitted event{"r" + std::to_string(++requests_),
                      copies > 1 ? words.at(1) : "",
                      {},
                      settings.contains("force"),
                      Get(settings, "user", ""),
                      GetNumber(settings, "max_parallel", 0)};
  for (int64_t i = 0; i < copies; ++i) {
    event.jobs.push_back({MakeSpec(words.at(1), settings), MakeInspection(settings),
                          MakePrediction(settings), settings.contains("auto")});
  }
  return Feed(event);
}

std::string Scenario::Report(const Words& all) {
  Words words = all;
  std::vector<job::RankKey> ranks;
  size_t next = 0;
  for (; words.at(next).find('/') != std::string::npos; ++next) {
    for (const job::RankKey& key : RanksOf(words[next])) ranks.push_back(key);
  }
  words.erase(words.begin(), words.begin() + static_cast<int64_t>(next));
  show_acks_ = words.front().starts_with("seq=");
  const int64_t given = show_acks_ ? std::stoll(words.front().substr(4)) : 0;
  if (show_acks_) words.erase(words.begin());
  std::string text;
  for (const job::RankKey& key : ranks) {
    const int64_t sequence = given > 0 ? given : ++sequences_[key];
    const auto row = ledger_.ranks().find(key);
    const std::string worker = row == ledger_.ranks().end() ? "a/0" : row->second.worker;
    text += Feed(RankReported{worker, key, sequence, ParseBody(words, key)});
  }
  show_acks_ = false;
  return text;
}

std::vector<job::RankKey> Scenario::RanksOf(const std::string& text) const {
  if (!text.ends_with("/*")) return {ParseKey(text)};
  const job::RankKey first = ParseKey(text.substr(0, text.size() - 1) + "0");
  std::vector<job::RankKey> ranks;
  for (const auto& [key, row] : ledger_.ranks()) {
    if (key.job == first.job && key.attempt == first.attempt) ranks.push_back(key);
  }
  return ranks;
}

std::string Scenario::Device(const Words& words) {
  const bool is_free = words.back() == "free";
  std::string text;
  for (size_t i = 1; i + 1 < words.size(); ++i)
    text += Feed(DeviceStateChanged{words[i], is_free, is_free ? "" : "12.0 GiB in use"});
  return text;
}

std::string Scenario::Faults(const Words& words) {
  return Feed(DeviceFaultsTold{words.at(1), ParseFaults(Join(words, 2))});
}

std::string Scenario::Wait(int64_t seconds) {
  std::string text;
  for (int64_t second = 1; second <= seconds; ++second) {
    now_.wall += 1'000'000;
    now_.steady += 1'000'000;
    const std::string happened = Feed(Tick{});
    if (!happened.empty()) text += "after " + std::to_string(second) + " s:\n" + happened;
  }
  return text;
}

std::string Scenario::Restart() {
  state_ = Restore(state_.options, ledger_.LoadState(), now_);
  state_.site = kSite;
  return Describe(state_, now_);
}

}  // namespace trainctl::core
