// One process of the coordinator: the real shell, over the disk and the clock of the simulation.
// Its loop and its reads run when they are told to. Its logs are real files.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "server/coordinator/coordinator.h"
#include "tests/server/simulation/sim_loop.h"
#include "tests/server/simulation/sim_reader.h"

namespace trainctl::core {

class SimCoordinator {
 public:
  using StepFunction = std::function<Actions(State&, const Event&, const Now&)>;

  SimCoordinator(const SimClock& clock, SimStore& store, const std::string& log_folder,
                 const Options& options, StepFunction step)
      : loop_(clock),
        reading_(clock),
        reader_(store),
        reads_(loop_, reading_, std::make_unique<SimReader>(store)),
        logs_(log_folder),
        shell_({loop_, clock, store, reader_, reads_, logs_, silence_, options, std::move(step)}) {}

  coordinator::Coordinator& shell() { return shell_; }
  const coordinator::Coordinator& shell() const { return shell_; }
  coordinator::ReadQueue& reads() { return reads_; }
  SimLoop& loop() { return loop_; }
  const SimLoop& loop() const { return loop_; }
  // What its read thread has been asked is answered.
  void Read() { reading_.Run(); }

 private:
  class Silence : public coordinator::EventLog {
    void Write(Level, std::string_view, std::initializer_list<Field>) override {}
  };

  Silence silence_;
  SimLoop loop_, reading_;
  SimReader reader_;
  coordinator::ReadQueue reads_;
  coordinator::LogFiles logs_;
  coordinator::Coordinator shell_;
};

}  // namespace trainctl::core
