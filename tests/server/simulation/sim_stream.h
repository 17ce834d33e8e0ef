// A worker's stream to the simulated coordinator, with what is on its way on it.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <variant>

#include "server/coordinator/coordinator.h"

namespace trainctl::core {

// What a worker says, beside events of the core.
struct InspectionTold {
  std::string request_id;
  base::Result<job::Inspection> inspection;
};
struct LogTold {
  job::RankKey key;
  int64_t offset = 0;  // of its first byte
  std::string data;
};
struct RemovalTold {
  std::string request_id;
  std::string error;  // empty: it is done
};
using WorkerWord = std::variant<WorkerHello, RankReported, DeviceStateChanged, DeviceFaultsTold,
                                InspectionTold, LogTold, RemovalTold>;

class SimStream : public coordinator::WorkerChannel {
 public:
  // Told of what the coordinator says, before it is on its way.
  using OnSend =
      std::function<void(const std::string& worker, coordinator::WorkerCommand* command)>;

  SimStream(std::string worker, OnSend on_send)
      : worker_(std::move(worker)), on_send_(std::move(on_send)) {}

  // To a worker that is gone: lost.
  void Send(const coordinator::WorkerCommand& command) override {
    coordinator::WorkerCommand told = command;
    on_send_(worker_, &told);
    if (!is_cut) to_worker.push_back(std::move(told));
  }
  void End(const base::Error&) override { is_ended = true; }

  const std::string& worker() const { return worker_; }

  std::deque<WorkerWord> to_coordinator;  // in order, as is the other
  std::deque<coordinator::WorkerCommand> to_worker;
  bool is_cut = false;    // the worker is gone from it
  bool is_ended = false;  // by the coordinator

 private:
  const std::string worker_;
  const OnSend on_send_;
};

}  // namespace trainctl::core
