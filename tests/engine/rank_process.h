// trainrank as a process: a plan on the tiny model that ships, run to its end, with all that it
// reported. It keeps tokens in a cache of its own: no other test makes it wait.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "common/rank/rank_json.h"
#include "tests/checkout.h"

namespace trainctl::engine_test {

namespace fs = std::filesystem;

struct RankEnd {
  int exit_code = -1;
  std::vector<job::RankMessage> messages;

  template <class T>
  std::vector<T> All() const {
    std::vector<T> found;
    for (const job::RankMessage& message : messages) {
      if (const T* value = std::get_if<T>(&message)) found.push_back(*value);
    }
    return found;
  }
  job::RankOutcome outcome() const {
    const auto outcomes = All<job::RankOutcome>();
    EXPECT_EQ(outcomes.size(), 1u);
    return outcomes.empty() ? job::RankOutcome{} : outcomes[0];
  }
  // One after the other, each once.
  std::vector<job::RunPhase> Phases() const {
    std::vector<job::RunPhase> phases;
    for (const job::RankPhase& message : All<job::RankPhase>()) {
      if (phases.empty() || phases.back() != message.phase) phases.push_back(message.phase);
    }
    return phases;
  }
  // Each phase that has a measure, one after the other, with all that was said of how far it is.
  struct Work {
    job::RunPhase phase;
    std::vector<int64_t> done;
    int64_t total = 0;
  };
  std::vector<Work> MeasuredWork() const {
    std::vector<Work> works;
    std::optional<job::RunPhase> last;
    for (const job::RankPhase& message : All<job::RankPhase>()) {
      const bool is_new = last != message.phase;
      last = message.phase;
      if (message.total == 0) continue;
      if (is_new || works.empty() || works.back().phase != message.phase)
        works.push_back({message.phase, {}});
      works.back().done.push_back(message.done);
      works.back().total = message.total;
    }
    return works;
  }
  // All that had a measure went up to its end.
  void ExpectMeasured(const std::vector<job::RunPhase>& phases) const {
    std::vector<job::RunPhase> measured;
    for (const Work& work : MeasuredWork()) {
      measured.push_back(work.phase);
      EXPECT_TRUE(std::ranges::is_sorted(work.done)) << job::Name(work.phase);
      EXPECT_EQ(work.done.back(), work.total) << job::Name(work.phase);
    }
    EXPECT_EQ(measured, phases);
  }
  std::vector<job::MetricPoint> Points(const std::string& name) const {
    std::vector<job::MetricPoint> points;
    for (const job::RankMetrics& metrics : All<job::RankMetrics>()) {
      for (const job::MetricPoint& point : metrics.points) {
        if (point.name == name) points.push_back(point);
      }
    }
    return points;
  }
};

class RankTest : public ::testing::Test {
 protected:
  RankTest() : folder_(fs::temp_directory_path() / ("rank_test." + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    plan_.job.name = "tiny";
    plan_.job.model.path = checkout::File("deploy/models/tiny");
    plan_.job.data.path = checkout::File("deploy/data/alpaca.json");
    plan_.job.data.val_split_fraction = 0.1;
    plan_.job.strategy = job::StrategyKind::kSingle;
    plan_.job.train.micro_batch_size = 2;
    plan_.job.train.max_steps = 4;
    plan_.job.train.max_seq_length = 64;
    plan_.job_id = "j1";
    plan_.directory = folder_;
  }
  ~RankTest() override { fs::remove_all(folder_); }

  RankEnd Run(const std::string& commands = "") {
    std::ofstream(folder_ / "plan.json") << job::ToJson(plan_);
    std::ofstream(folder_ / "commands") << commands;
    const std::string command =
        "XDG_CACHE_HOME='" + (folder_ / "cache").string() + "' '" + checkout::Program("trainrank") +
        "' --commands-fd 0 --plan '" + (folder_ / "plan.json").string() + "' < '" +
        (folder_ / "commands").string() + "' 2> '" + (folder_ / "log").string() + "'";
    RankEnd end;
    std::FILE* pipe = popen(command.c_str(), "r");
    std::string line;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
      if (c != '\n') {
        line += static_cast<char>(c);
        continue;
      }
      const auto message = job::RankMessageFromLine(line);
      EXPECT_TRUE(message.ok()) << line;
      if (message) end.messages.push_back(*message);
      line.clear();
    }
    const int status = pclose(pipe);
    end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return end;
  }

  fs::path folder_;
  job::RankPlan plan_;
};

}  // namespace trainctl::engine_test
