// A coordinator as a worker sees it: WorkerGateway on loopback on a port of the kernel's choice. It
// keeps what it is told as the real one does: each report once, logs by offset. It acknowledges
// that, and welcomes a worker with how far it is. It can go away and come back.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/wire/rank_key.h"
#include "common/wire/rank_report.h"
#include "proto/trainctl.pb.h"

namespace trainctl::tests {

// Whatever a test waits for happens long before; it fails otherwise.
constexpr auto kDeadline = std::chrono::seconds(30);

class FakeCoordinator {
 public:
  // All that a worker ever told, in order of arrival.
  struct Told {
    std::vector<v1::Hello> hellos;
    std::map<job::RankKey, std::vector<job::RankReport>>
        reports;  // stored ones, by sequence from 1
    std::map<job::RankKey, std::string> logs;
    std::vector<v1::DeviceState> device_states;
    std::vector<v1::DeviceFaults> device_faults;
    std::vector<v1::InspectResult> inspections;
    std::vector<v1::ArtifactResult> artifacts;
    std::vector<v1::OutputsResult> outputs;
    int64_t heartbeats = 0;
    v1::Heartbeat last_heartbeat;
    int64_t repeated_reports = 0;     // that were stored already
    std::vector<std::string> faults;  // gaps and unreadable reports: a worker's bugs
  };

  FakeCoordinator();
  ~FakeCoordinator();

  std::string address() const;
  // Ends all streams and the port; what was told stays.
  void GoAway();
  // On another port.
  void ComeBack();
  // From now on each Hello is refused; empty: none.
  void Refuse(const std::string& reason);
  // From now on a Hello is not answered by itself.
  void WithholdWelcomes();
  // Reports are stored, but not acknowledged.
  void WithholdAcks();

  // To the worker's newest stream; waits until there is one.
  void Send(const v1::CoordinatorMessage& message);
  void Start(const job::RankKey& key, const std::string& plan_json);
  void Stop(const job::RankKey& key, double grace_seconds);
  void Peers(const job::RankKey& key, const std::string& blob);
  void Release(const job::RankKey& key);

  // Waits until the condition holds; throws after a deadline, saying what was waited for.
  void Await(const std::string& what, const std::function<bool(const Told&)>& condition);
  // Waits for the rank's last report.
  job::ReportBody AwaitEnd(const job::RankKey& key);
  Told told() const;

 private:
  class Service;
  class Running;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Told told_;
  bool acks_ = true;
  bool welcomes_ = true;
  std::string refusal_;
  std::unique_ptr<Running> running_;
};

}  // namespace trainctl::tests
