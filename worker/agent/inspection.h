// Answers the coordinator's Inspect: what shape a job's model and data have, as `trainworker
// --inspect` finds it. The program gets the job as JSON on stdin and answers JSON on stdout; exit
// status 2 means that the job is at fault, and stderr says how. Runs on the io_context's thread,
// which never waits for a program: one that a mount holds in the kernel, past its SIGKILL, is left
// to end when it can.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "common/base/file_roots.h"
#include "common/base/result.h"

namespace trainctl::agent {

struct InspectionOptions {
  std::string program;  // trainworker
  std::vector<std::string> environment;
  std::chrono::milliseconds timeout{60'000};
};

class Inspections {
 public:
  // The inspection as JSON. kInvalid: the job's model or data is at fault. kUnavailable: the
  // program failed, took too long, or too many run already, of all or of this owner's.
  using Answer = std::function<void(base::Result<std::string>)>;

  Inspections(boost::asio::io_context& io, InspectionOptions options);
  // Ends the programs that still run; their answers never come.
  ~Inspections();

  struct Question {
    std::string job_json;
    base::FileRoots roots = {};  // of this host, for the job's owner
    std::string user = {};       // as whom it looks; empty: as the worker
    std::string owner = {};      // of the job; empty: not known
  };
  void Ask(const Question& question, Answer answer);
  static constexpr size_t kMaxRunning = 4;
  static constexpr size_t kMaxRunningOfOwner = kMaxRunning - 1;
  static constexpr size_t kMaxStuck = 16;  // killed and not yet ended
  static constexpr size_t kMaxStuckOfOwner = kMaxStuck / 4;

 private:
  class Run;
  struct Killed {
    pid_t pid = 0;
    std::string owner;
  };

  // Why no more may be asked now.
  base::Status CheckRoom(const std::string& owner) const;

  boost::asio::io_context& io_;
  const InspectionOptions options_;
  std::list<std::shared_ptr<Run>> running_;
  const std::shared_ptr<std::vector<Killed>> killed_ = std::make_shared<std::vector<Killed>>();
};

}  // namespace trainctl::agent
