// Runs trainctl as a function against a fake coordinator: what it printed, its exit code, and what
// it asked for.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "client/verbs/program.h"
#include "tests/client/fake_coordinator.h"

namespace trainctl::client {

class ClientTest : public testing::Test {
 protected:
  ClientTest() {  // times in texts are local
    setenv("TZ", "UTC0", 1);
    tzset();
  }

  struct Ended {
    int code = 0;
    std::string out, err;
  };

  Ended Trainctl(const std::vector<std::string>& words) {
    std::ostringstream out, err;
    surroundings_.out = &out;
    surroundings_.err = &err;
    surroundings_.clock = &clock_;
    surroundings_.connect = [this](const NamedServer& server) {
      connected_to_ = server.address;
      return std::make_unique<FakeApi>(&coordinator_);
    };
    surroundings_.sleep = [this](double seconds) {
      clock_.Advance(static_cast<int64_t>(seconds * 1e6) + 1);
      if (on_sleep_) on_sleep_();
    };
    surroundings_.new_request_id = [this] { return "request-" + std::to_string(++requests_made_); };
    surroundings_.set_farewell = [this](const std::string& farewell) {
      if (!farewell.empty()) farewell_ = farewell;
    };
    surroundings_.run = [this](const std::vector<std::string>& command, const std::string& input) {
      return Run(command, input);
    };
    const int code = RunProgram(words, surroundings_);
    return {code, out.str(), err.str()};
  }

  // Programs beside trainctl, by their path; what is not here does not exist.
  base::Result<ProgramOutput> Run(const std::vector<std::string>& command,
                                  const std::string& input) {
    const auto program = programs_.find(command.front());
    if (program == programs_.end())
      return base::Error{base::Code::kNotFound, "there is no " + command.front()};
    program_input_ = input;
    return program->second;
  }

  void SetTerminal(int width) {
    surroundings_.out_terminal = {.interactive = true, .layout = {.width = width}};
  }

  FakeCoordinator coordinator_;
  base::FakeClock clock_;
  std::istringstream in_;  // empty
  Surroundings surroundings_{
      .in = &in_, .environment_server = "fake:1", .program_directory = "/bin"};
  std::function<void()> on_sleep_;
  std::map<std::string, ProgramOutput> programs_;
  std::string program_input_, farewell_, connected_to_;
  int requests_made_ = 0;
};

}  // namespace trainctl::client
