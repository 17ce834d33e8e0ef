// A coordinator's core that is driven by lines of text, for transcripts. Commands (words in [] may
// be left out):
//
//   workers NAME… [KEY=VALUE…]  Hello of each: boot=b1, model=H200, memory_gib=80, kind=cuda,
//                               threads=1, identity=, process=, dirty;
//                               held=j1/1/0:running,j2/1/0:ended:SITE; allow=USER,…, read=ROOT,…,
//                               write=ROOT,… (host_rules.h); links=0+1:NV,2+3:PIX (of the host's
//                               GPUs by their numbers; two of two such groups are SYS)
//   lost NAME…                  their streams end
//   fence NAME…                 an operator vouches that they run nothing
//   submit NAME [KEY=VALUE…]    devices, exclusive=yes, priority, time_limit, step_timeout
//                               (seconds), max_restarts, checkpoints=EVERY_STEPS;
//                               expect=OOM|SUCCEEDED, copies (a group of so many, max_parallel=N of
//                               them at once), memory=>=40GiB (a constraint); gpu.links, host,
//                               label.KEY likewise; data=PATH, output=DIR, uninspected=yes,
//                               force=yes, auto=N (the estimate's choice of a micro batch), global;
//                               after=j1,j2:any, lease=NAME, predicted=N (seconds of the whole run,
//                               on predicted_on=H200)
//   inspected JOB NAME ANSWER   of the worker that was asked: ok | fault | none (nobody looked)
//   drain NAME [WHY…] [user=U]  nothing new is placed on the worker, or the host; undrain NAME
//                               [faults]
//   lease NAME for=SECONDS [devices=N start=SECONDS host=H model=M user=U]   from so many seconds
//   on;
//                               block: the same without a name, when it could begin
//   extend NAME SECONDS; unlease NAME [user=U]
//   cancel JOB; rm JOB…
//   J/A/R… REPORT               a report of each of these ranks (job/attempt/rank; j1/1/* are all),
//                               numbered on: started | phase NAME [DONE TOTAL] | rendezvous BLOB |
//                               progress STEP STEPS [STAGE]; metrics COUNT | stepped STEP SECONDS
//                               ENDED_AT | worked FIRST STEPS SECONDS (its own work in each) |
//                               saved PATH | outcome NAME [MESSAGE]; exit CODE | signal N |
//                               oom_killed | launch_failure MESSAGE | worker_unfit MESSAGE; ahead
//                               of it seq=N repeats a number; deadline OUTCOME MESSAGE: its worker
//                               ended it so
//   device NAME… free|dirty     the workers' word
//   trouble NAME [WHY…]         why it can't write its own folder; without: it can again
//   wait SECONDS                that many Ticks
//   policy JSON                 it starts again with this policy (policy_file.h)
//   restart                     the coordinator is killed and restored from its rows; all streams
//                               are gone
//   clock SECONDS               its clock is set by so many; reboot: a restart in another boot
//   show                        the state
//   explain JOB                 what keeps it from starting, device by device
//   reasons JOB                 why it has waited, and since when
//
// Each answers with Describe of what it did. Acknowledgements are left out unless seq= is given.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "server/core/step.h"
#include "tests/server/ledger.h"

namespace trainctl::core {

class Scenario {
 public:
  static constexpr char kSite[] = "here";

  explicit Scenario(Options options = {}) {
    state_.options = options;
    state_.options.boot_id = "boot-1";
    state_.site = kSite;
  }

  std::string Run(const std::string& line);

 private:
  using Words = std::vector<std::string>;

  std::string Feed(const Event& event);
  // One event for each name behind the verb.
  template <class EventOfWorker>
  std::string FeedEach(const Words& words) {
    std::string text;
    for (size_t i = 1; i < words.size(); ++i) text += Feed(EventOfWorker{words[i]});
    return text;
  }
  std::string Workers(const Words& words);
  std::string Drain(const Words& words);
  std::string Undrain(const Words& words);
  std::string MakeLease(const Words& words);
  std::string Block(const Words& words) const;
  std::string Extend(const Words& words);
  std::string Explain(base::JobId job) const;
  std::string Reasons(base::JobId job) const;
  std::string Submit(const Words& words);
  std::string Report(const Words& words);
  std::string Device(const Words& words);
  std::string Faults(const Words& words);
  std::string Wait(int64_t seconds);
  std::string Restart();
  std::vector<job::RankKey> RanksOf(const std::string& text) const;

  State state_;
  Ledger ledger_;
  Now now_{1'000'000'000, 1'000'000'000};
  std::map<job::RankKey, int64_t> sequences_;
  int64_t requests_ = 0;
  bool show_acks_ = false;
};

}  // namespace trainctl::core
