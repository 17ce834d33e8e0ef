#include <functional>
#include <string>

#include "client/exit_code.h"
#include "client/naming.h"
#include "client/show/calendar_time.h"
#include "client/show/decoded.h"
#include "client/show/escaping.h"
#include "client/show/format.h"
#include "client/show/log_lines.h"
#include "client/submit/patience.h"
#include "client/verbs/verb.h"

namespace trainctl::client {
namespace {

using TakeChunk = std::function<void(const v1::LogChunk&)>;

class Logs : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positional("JOB", &job_, "id or name of a job");
    arguments.Switch("-f,--follow", &follow_, "go on until the job ends, or Ctrl-C");
    arguments.Number("--rank", "N", &rank_, "only this rank; else all, each line behind its rank");
    arguments.Number("--tail", "N", &tail_, "only the last N lines", /*least=*/1);
    arguments.Number("--attempt", "N", &attempt_, "of this attempt; else of the latest",
                     /*least=*/1);
    arguments.Remark(
        "With -o each line is a record: {\"attempt\", \"rank\", \"text\"}. jsonl has them at "
        "once, the others at the end.");
  }

  int Run(Context& context) override {
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return Fail(context, api.error());
    if (context.format == OutputFormat::kName) {
      return Fail(context, {base::Code::kInvalid,
                            "-o name: a line has no id; expected table, json, jsonl, csv or md"});
    }
    job_ = NewestMeant(context, job_);
    const base::Result<v1::JobDetail> detail = Find(context);
    if (!detail.ok()) return Fail(context, detail.error());
    const v1::JobView& job = detail->view();
    context.surroundings.set_farewell(
        follow_ ? "Detached: the job goes on. Follow again with: trainctl logs -f " + job_ : "");
    size_t bytes = 0;
    const int exit_code = context.for_people() ? WriteText(context, **api, job, &bytes)
                                               : WriteRecords(context, **api, &bytes);
    if (exit_code == kExitOk && bytes == 0) NoteNothing(context, *detail);
    return exit_code;
  }

 private:
  // A file or another program gets a log's bytes as they are; a terminal gets its colours, and is
  // not steered by the rest. Of several ranks each line stands behind its rank.
  int WriteText(Context& context, Api& api, const v1::JobView& job, size_t* bytes) const {
    const Surroundings& surroundings = context.surroundings;
    EscapingStream escaped(surroundings.out, EscapingBuffer::Kind::kLog);
    std::ostream& out = surroundings.out_terminal.is_terminal ? escaped : *surroundings.out;
    LogLines lines(
        [&out](const LogLine& line) { out << "[" << line.rank << "] " << line.text << "\n"; });
    const bool prefixed = !rank_ && job.devices() > 1;
    const int exit_code = Read(context, api, [&](const v1::LogChunk& chunk) {
      *bytes += chunk.data().size();
      if (prefixed) {
        lines.Add(chunk);
      } else {
        out << chunk.data();
      }
      out << std::flush;
    });
    lines.Finish();
    return exit_code;
  }

  int WriteRecords(Context& context, Api& api, size_t* bytes) const {
    Listing listing{.collection = "lines",
                    .table = TextTable({{"ATTEMPT", true}, {"RANK", true}, {"TEXT"}})};
    const bool at_once = context.format == OutputFormat::kJsonl;
    LogLines lines([&](const LogLine& line) {
      if (at_once) {
        context.out << RenderLine(LogRecord(line));
        return;
      }
      listing.records.push_back(LogRecord(line));
      listing.table.AddRow({std::to_string(line.attempt), std::to_string(line.rank), line.text});
    });
    const int exit_code = Read(context, api, [&](const v1::LogChunk& chunk) {
      *bytes += chunk.data().size();
      lines.Add(chunk);
      context.out << std::flush;
    });
    lines.Finish();
    if (!at_once) Print(context, listing);
    context.out << std::flush;
    return exit_code;
  }

  // Where a stream that is followed breaks, the next one goes on behind what was written.
  int Read(Context& context, Api& api, const TakeChunk& take) const {
    Patience patience(context.clock(),
                      [&context](const std::string& text) { context.err << text << std::endl; });
    patience.Heard();
    v1::LogsRequest request = Request();
    while (true) {
      const base::Status read = api.Logs(v1::LogsRequest(request), [&](const v1::LogChunk& chunk) {
        take(chunk);
        GoOnBehind(chunk, &request);
        return true;
      });
      if (read.ok()) return kExitOk;
      if (!follow_ || !patience.Bear(read.error())) return Fail(context, read.error());
      context.surroundings.sleep(Patience::kRetrySeconds);
      if (Find(context).ok()) patience.Heard();  // a log may be silent for long
    }
  }

  // Rank 0 tells of its steps; silence of the others is no fault.
  void NoteNothing(Context& context, const v1::JobDetail& detail) const {
    const v1::JobView& job = detail.view();
    if (detail.logs_removed_at() > 0) {
      context.err << "note: the logs of " << job.name() << " (" << job.id() << ") were removed at "
                  << LocalMoment(detail.logs_removed_at()) << " by this site's policy" << std::endl;
      return;
    }
    const bool is_other = rank_.value_or(0) != 0;
    context.err << "note: no output of " << (rank_ ? "rank " + std::to_string(*rank_) + " of " : "")
                << job.name() << " (" << job.id() << ") has come to the coordinator"
                << (HasEnded(job) ? "" : " so far") << "; "
                << (is_other ? "rank 0 tells of the steps: trainctl logs " + job.id() + " --rank 0"
                             : "how it stands: trainctl describe " + job.id())
                << std::endl;
  }

  base::Result<v1::JobDetail> Find(Context& context) const {
    const base::Result<v1::GetResponse> job = GetJobs(context, job_);
    if (!job.ok()) return job.error();
    if (job->jobs_size() != 1) return IsGroup(*job);
    return job->jobs(0);
  }

  v1::LogsRequest Request() const {
    v1::LogsRequest request;
    request.set_job(job_);
    if (rank_) request.set_rank(*rank_);
    if (attempt_) request.set_attempt(*attempt_);
    request.set_tail_lines(tail_.value_or(0));
    request.set_follow(follow_);
    return request;
  }

  base::Error IsGroup(const v1::GetResponse& response) const {
    std::vector<std::string> ids;
    for (const v1::JobDetail& job : response.jobs()) ids.push_back(job.view().id());
    return {base::Code::kInvalid,
            "'" + job_ + "' is a group: name one of its jobs, " + Join(ids, ", ")};
  }

  std::string job_;
  bool follow_ = false;
  std::optional<int64_t> rank_, tail_, attempt_;
};

}  // namespace

std::unique_ptr<Verb> MakeLogs() { return std::make_unique<Logs>(); }

}  // namespace trainctl::client
