// One rank's keeper, a single thread around poll(2). It starts the rank and is the parent of
// everything the rank leaves behind (child subreaper). It outlives the worker, so that the rank
// does too; a rank never outlives its shim.
//
// Life: Launch → the rank runs → it ends, or is asked to → the rest of the tree is killed and
// reaped → exit.json. To ask is SIGTERM to its group, and after the grace SIGKILL to the tree.
// Processes that can't be ended (uninterruptible sleep) are waited for up to a bound, then named in
// exit.json. The rank never waits for the shim's files: see log_file.h and spool.h for what is
// dropped when.
//
// It keeps the rank's deadline where no worker does (rank_deadline.h): the rank is asked to end
// then. exit.json says so, since the next worker is to tell why.
//
// Nothing of what was said is cut off. A rank that has reported its outcome gets no SIGTERM: it is
// about to end, and the grace bounds it. What a rank leaves behind may write on for a moment.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/clock.h"
#include "worker/shim/cgroup_leaf.h"
#include "worker/shim/control_socket.h"
#include "worker/shim/log_file.h"
#include "worker/shim/rank_deadline.h"
#include "worker/shim/rank_folder.h"
#include "worker/shim/rank_process.h"
#include "worker/shim/spool.h"

namespace trainctl::shim {

struct ShimOptions {
  std::string folder;                // rank_folder.h; must be there
  std::vector<std::string> command;  // the rank's program and arguments
  LaunchPaths paths;                 // looked at before the program starts
  std::string user;                  // whose process the program is; empty: the shim's own user's
  std::vector<std::string> environment;  // of this process: NAME=value
  std::string host;                      // this one, for people
  std::string cgroup_parent;       // a cgroup v2 folder in which the rank gets a leaf where that is
                                   // allowed; empty: none
  double grace_seconds = 10;       // of a SIGTERM to the shim itself
  double unkillable_seconds = 30;  // how long killed processes are waited for
  double launch_seconds = 60;      // how long the program and what it needs are waited for
  LogLimits log;
  SpoolLimits spool;
};

class Shim {
 public:
  Shim(ShimOptions options, const base::Clock& clock);

  // Until the rank's tree is gone and exit.json is written. The program's failure to start is in
  // exit.json too. kConflict: the folder is in use or was used before. kNotFound, kIo: the folder
  // can't be used.
  base::Status Run();

 private:
  enum class Stage { kRunning, kTerminating, kKilling, kGone };

  base::Status Prepare();
  base::Status Launch();
  void CheckLaunch();
  void FailLaunch(const base::Error& error);

  void WaitForEvents();
  void ReadSignals();
  bool ReadLog();       // false: nothing more now
  bool ReadMessages();  // the same
  void SendCommands();
  void Take(std::string_view line);
  void Tell();
  void TellOfFiles();
  int PollTimeoutMs() const;
  bool Drains();
  void RetryFiles();

  bool MayRunOn() const;
  void KeepDeadline();
  void Terminate(double grace_seconds);
  void Reap();
  void Advance();
  void KillTree();
  base::Status Finish();

  const ShimOptions options_;
  const base::Clock& clock_;
  base::Descriptor lock_;
  base::Descriptor signals_;
  std::optional<ControlSocket> control_;
  std::optional<RankProcess> rank_;
  std::optional<CgroupLeaf> leaf_;
  RankDeadline rank_deadline_;
  LogFile log_;
  Spool spool_;
  LineBuffer messages_{kMaxLineBytes};
  int64_t overlong_messages_ = 0;  // of messages_, counted in the spool already
  bool outcome_said_ = false;
  std::string commands_;  // for the rank, not yet taken by it

  Stage stage_ = Stage::kRunning;
  base::SteadyMicros deadline_ = 0;         // of kTerminating and kKilling
  base::SteadyMicros launch_deadline_ = 0;  // 0: the program runs, or never will
  base::SteadyMicros drain_deadline_ = 0;   // of what the rank left behind; 0: it has not ended
  bool tree_gone_ = false;
  bool killed_ = false;  // by us
  int64_t oom_kills_before_ = 0;
  bool terminate_answer_due_ = false;
  int64_t told_lines_ = -1;
  int64_t told_log_bytes_ = -1;
  int told_error_ = 0;  // of the files
  ExitRecord exit_;
};

}  // namespace trainctl::shim
