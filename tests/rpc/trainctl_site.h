// trainctl as a function, over gRPC against the real coordinator of a TestSite: what it printed and
// its exit code.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "client/grpc_api.h"
#include "client/verbs/program.h"
#include "common/base/clock.h"
#include "tests/rpc/test_site.h"

namespace trainctl::rpc_test {

struct Ended {
  int code = 0;
  std::string out, err;
};

inline Ended Trainctl(const TestSite& site, const std::vector<std::string>& words) {
  static int requests = 0;
  const base::SystemClock clock;
  std::ostringstream out, err;
  client::Surroundings surroundings;
  std::istringstream in;
  surroundings.in = &in;
  surroundings.out = &out;
  surroundings.err = &err;
  surroundings.clock = &clock;
  surroundings.environment_server = site.address();
  surroundings.connect = [](const client::NamedServer& server) {
    return client::ConnectGrpc(server);
  };
  surroundings.sleep = [](double) {};
  surroundings.new_request_id = [] { return "request-" + std::to_string(++requests); };
  surroundings.set_farewell = [](const std::string&) {};
  surroundings.run = [](const std::vector<std::string>& command, const std::string&) {
    return base::Error{base::Code::kNotFound, "there is no " + command.front()};
  };
  const int code = client::RunProgram(words, surroundings);
  return {code, out.str(), err.str()};
}

}  // namespace trainctl::rpc_test
