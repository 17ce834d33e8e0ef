// The folder of one rank of one attempt: the whole contract between shim and worker, so that a
// restarted worker knows all from it.
//   plan.json          what the rank runs (the worker writes it)
//   deadline.json      until when it may run (the worker writes it, both read it:
//                      deadline_file.h)
//   scratch            a folder of the rank's own (the worker makes it)
//   shim.lock          held by the shim with flock(2) as long as it lives
//   shim.sock          where the shim listens (control_socket.h)
//   rank.pid           PidRecord, written before the rank's program starts
//   rank.log.*         what the rank printed (log_file.h)
//   spool.jsonl.*      what the rank and the worker said in messages (spool.h)
//   exit.json          ExitRecord, written once the whole process tree is gone
//   exit.reserve       its place on the disk, taken before the rank starts
//   ballast            given up for the last messages where the disk is full at the end
// Records are JSON objects and are written atomically. A folder runs a rank once: with rank.pid or
// exit.json there, a shim refuses it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/clock.h"
#include "common/base/descriptor.h"
#include "common/base/result.h"

namespace trainctl::shim {

inline constexpr std::string_view kDeadlineFile = "deadline.json";

// {"pid","start_time","session","boot_id","cgroup"}
struct PidRecord {
  pid_t pid = 0;            // also the rank's process group
  uint64_t start_time = 0;  // ticks since boot; with pid it names the process for this boot
  pid_t session = 0;  // the shim's own, which all of the tree is in that made none itself; 0: the
                      // shim leads no session
  std::string boot_id;
  std::string cgroup;  // the rank's leaf; empty: none
};

// {"exit_code" or "signal" or neither, "oom_killed", "launch_error", "worker_fault", "note",
// "lost_log_bytes", "leftover_pids", "deadline_came", "boot_id", "ended_at"}; empty ones are left
// out.
struct ExitRecord {
  std::optional<int> exit_code;
  std::optional<int> signal;
  bool oom_killed =
      false;  // SIGKILL that nobody here sent, while the kernel's count of OOM kills rose
  std::string launch_error;          // the program never ran, and why
  bool worker_fault = false;         // which is no fault of the job's
  std::string note;                  // what people should know of this end
  int64_t lost_log_bytes = 0;        // at the log's end: the disk was full
  std::vector<pid_t> leftover_pids;  // could not be ended in time (uninterruptible sleep): the tree
                                     // is not proven gone
  bool deadline_came = false;        // the shim asked it to end, since no worker kept its deadline
  std::string boot_id;
  base::WallMicros ended_at = 0;
};

// kIo, kExhausted, kNotFound as base::WriteFileAtomically.
base::Status Write(const std::string& folder, const PidRecord& record);
base::Status Write(const std::string& folder, const ExitRecord& record);
std::string ToJson(const ExitRecord& record);

// Takes the disk space for exit.json, so that a full disk never loses a rank's end, and the
// ballast. kExhausted: there is none. kIo, kNotFound.
base::Status ReserveEnd(const std::string& folder);
// Makes the ballast's room free.
void DropBallast(const std::string& folder);
// Removes what of the reserve is left.
void DropReserve(const std::string& folder);

// Holds shim.lock until the descriptor closes. kConflict: a process holds it. kUnavailable: it
// can't be told now (too many open files, no memory). kNotFound: the folder is gone. kIo: no lock
// can be made there, so that none is held.
base::Result<base::Descriptor> LockFolder(const std::string& folder);

// Whether a rank was started here before.
bool HasRun(const std::string& folder);

}  // namespace trainctl::shim
