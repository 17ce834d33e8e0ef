#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "client/exit_code.h"
#include "client/naming.h"
#include "client/show/decoded.h"
#include "client/show/format.h"
#include "client/show/job_listing.h"
#include "client/show/memory_bar.h"
#include "client/show/site_time.h"
#include "client/top/bsc_table.h"
#include "client/top/log_tail.h"
#include "client/top/memory_turns.h"
#include "client/top/picture.h"
#include "client/verbs/verb.h"
#include "common/record/worker_record.h"

namespace trainctl::client {
namespace {

constexpr double kFrameSeconds = 1;
constexpr int64_t kEndedShown = 10;
constexpr int kFramesOfEnded =
    10;  // those that have ended are asked for as often, or when one ends
constexpr int kFramesOfDetail = 5;        // the opened job's detail
constexpr size_t kJobsOfFirstFrame = 16;  // whose memory by kind is read
constexpr size_t kJobsOfAFrame = 2;
constexpr std::string_view kColumnSets[] = {"bsc"};  // of --columns

class SiteReader {
 public:
  SiteReader(Api* api, const base::Clock* clock, std::string server)
      : api_(api), clock_(clock), server_(std::move(server)) {}

  // And the memory by kind of at most so many jobs.
  base::Result<SiteView> Read(size_t jobs_of_memory) {
    v1::ListRequest request;
    request.set_unfinished_only(true);
    request.set_load_history(true);
    const auto unfinished = api_->List(request);
    if (!unfinished.ok()) return unfinished.error();
    const bool one_ended = unfinished->jobs_size() < unfinished_;
    if (frames_++ % kFramesOfEnded == 0 || one_ended) {
      v1::ListRequest of_ended;
      of_ended.add_states(std::string(job::Name(job::JobState::kFinished)));
      of_ended.set_limit(kEndedShown);
      auto ended = api_->List(of_ended);
      if (!ended.ok()) return ended.error();
      ended_ = std::move(*ended);
    }
    unfinished_ = unfinished->jobs_size();
    SiteView site = SiteViewOf(server_, SiteTime(unfinished->jobs(), *clock_), *unfinished, ended_);
    memory_.Read(*api_, jobs_of_memory, &site);
    return site;
  }

 private:
  Api* api_;
  const base::Clock* clock_;
  std::string server_;
  int frames_ = 0;
  int unfinished_ = 0;
  v1::ListResponse ended_;
  MemoryTurns memory_;
};

// The site on a screen until somebody leaves it.
class LiveView {
 public:
  LiveView(Context& context, Api* api, SiteView site, SiteReader reader, Screen* screen)
      : clock_(context.clock()),
        terminal_(context.surroundings.out_terminal),
        api_(api),
        site_(std::move(site)),
        reader_(std::move(reader)),
        screen_(screen) {}

  // opened: the id of a job, or empty.
  void Run(const std::string& opened) {
    state_.log_of = opened;
    FollowLog();
    base::SteadyMicros next = clock_.Steady() + Micros(kFrameSeconds);
    while (true) {
      const SiteView shown = Arranged(site_, state_.order, state_.filter);
      Settle(shown, &state_);
      Draw(shown);
      const double wait = static_cast<double>(next - clock_.Steady()) / 1e6;
      if (const auto key = screen_->WaitForKey(std::max(0.0, wait))) {
        const TopAction action = Obey(*key, shown, &state_);
        if (action == TopAction::kQuit) return;
        if (action == TopAction::kCancel) Cancel();
        FollowLog();
      }
      if (clock_.Steady() < next) continue;
      Refresh();
      next = clock_.Steady() + Micros(kFrameSeconds);
    }
  }

 private:
  static base::SteadyMicros Micros(double seconds) {
    return static_cast<base::SteadyMicros>(seconds * 1e6);
  }

  void Draw(const SiteView& shown) {
    const ScreenSize size = screen_->size();
    const Paper paper{.columns = size.columns,
                      .rows = size.rows,
                      .colour = terminal_.layout.colour,
                      .unicode = terminal_.unicode};
    if (state_.help) {
      screen_->Draw(HelpPicture(paper));
    } else if (log_) {
      const BarLayout layout{.columns = paper.columns, .unicode = paper.unicode};
      const OpenJob open{log_->lines(),
                         MemoryBar(detail_, FirstDeviceOf(site_, detail_.view()), layout), detail_};
      screen_->Draw(LogPicture(site_, open, paper, &state_));
    } else {
      screen_->Draw(SitePicture(shown, paper, &state_));
    }
  }

  void Refresh() {
    base::Result<SiteView> now = reader_.Read(log_ ? 0 : kJobsOfAFrame);
    if (now.ok()) {
      site_ = std::move(*now);
    } else {
      site_.problem = now.error().message;
    }
    ReadLog();
  }

  // Opens and closes the log as the keys have it.
  void FollowLog() {
    if (state_.log_of.empty()) {
      log_.reset();
    } else if (!log_ || log_->job() != state_.log_of) {
      log_ = std::make_unique<LogTail>(state_.log_of);
      frames_ = 0;
      ReadLog();
    }
  }

  // What a job holds changes little from step to step, and its detail is long.
  void ReadDetail() {
    if (frames_++ % kFramesOfDetail != 0) return;
    detail_.Clear();
    v1::GetRequest request;
    request.set_job(log_->job());
    auto response = api_->Get(request);
    if (response.ok() && response->jobs_size() == 1)
      detail_ = std::move(*response->mutable_jobs(0));
  }

  void ReadLog() {
    if (!log_) return;
    ReadDetail();
    const v1::JobView* job = site_.Find(log_->job());
    if (job == nullptr) job = &detail_.view();  // it ended long ago
    if (job->id().empty()) return;
    const size_t before = log_->lines().size();
    if (const base::Status read = log_->Read(*api_, *job); !read.ok())
      state_.notice = read.error().message;
    // Whoever has scrolled back reads on where they are.
    if (state_.lines_back > 0) state_.lines_back += static_cast<int>(log_->lines().size() - before);
  }

  void Cancel() {
    v1::CancelRequest request;
    request.add_jobs(std::exchange(state_.to_cancel, ""));
    const auto response = api_->Cancel(request);
    if (!response.ok()) {
      state_.notice = response.error().message;
      return;
    }
    for (const v1::SubmittedJob& job : response->jobs())
      state_.notice = "Asked " + NameWithId(job.name(), job.id()) + " to end.";
  }

  const base::Clock& clock_;
  const Terminal& terminal_;
  Api* api_;
  SiteView site_;
  SiteReader reader_;
  Screen* screen_;
  TopState state_;
  std::unique_ptr<LogTail> log_;
  v1::JobDetail detail_;  // of the job whose log it is
  int frames_ = 0;        // since it was opened
};

class Top : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Switch("-1,--once", &once_, "show it once, and end");
    arguments.Text("--job", "JOB", &job_, "open this job: its memory, ranks, events and log");
    arguments.Text("--columns", "SET", &columns_,
                   "of hosts only, once: bsc: NODE, NCPUS, CPU %, AVAIL MEM, FREE MEM, MEM %, "
                   "POWER, GPUi %, MEMi %");
    arguments.Offers("--columns", {std::begin(kColumnSets), std::end(kColumnSets)});
    arguments.Remark(
        "Hosts and devices with their load, what runs there for whom, the queue, what ended last; "
        "anew each second.\n"
        "Keys: q leaves; arrows or j and k select a job; Enter or l opens it with its memory, "
        "ranks, events and log; c ends\n"
        "it after a y, after two where it runs; / filters and s sorts jobs; < and > scroll hosts; "
        "d shows all devices; ? "
        "tells more.\n"
        "~ is a prediction. Where the output is no terminal it is shown once.");
  }

  int Run(Context& context) override {
    if (!columns_.empty() && std::ranges::count(kColumnSets, columns_) == 0) {
      return Fail(context, {base::Code::kInvalid, "top --columns " + columns_ +
                                                      ": the set that is known is " +
                                                      Join(kColumnSets, ", ")});
    }
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return Fail(context, api.error());
    if (!job_.empty()) {
      const base::Result<v1::JobDetail> job = GetOneJob(context, NewestMeant(context, job_));
      if (!job.ok()) return Fail(context, job.error());
      opened_ = *job;
    }
    SiteReader reader(*api, &context.clock(), context.server);
    const bool draws_jobs = context.for_people() && columns_.empty() && job_.empty();
    base::Result<SiteView> site = reader.Read(draws_jobs ? kJobsOfFirstFrame : 0);
    if (!site.ok()) return Fail(context, site.error());
    if (!context.for_people())
      return Print(context, columns_.empty() ? ListingOf(*site) : BscListing(*site));
    const std::string opened = opened_.view().id();
    const Terminal& terminal = context.surroundings.out_terminal;
    if (!columns_.empty()) {
      context.out << BscTable(*site).Render(terminal.layout) << std::flush;
      return kExitOk;
    }
    std::unique_ptr<Screen> screen;
    if (!once_ && terminal.interactive) screen = context.surroundings.open_screen();
    if (screen != nullptr) {
      LiveView(context, *api, std::move(*site), std::move(reader), screen.get()).Run(opened);
      return kExitOk;
    }
    const Paper paper{.columns = terminal.layout.width,
                      .rows = 0,
                      .colour = terminal.layout.colour,
                      .unicode = terminal.unicode};
    const base::Result<std::vector<std::string>> rows = Once(**api, *site, paper);
    if (!rows.ok()) return Fail(context, rows.error());
    for (const std::string& row : *rows) context.out << row << "\n";
    context.out << std::flush;
    return kExitOk;
  }

 private:
  base::Result<std::vector<std::string>> Once(Api& api, const SiteView& site,
                                              const Paper& paper) const {
    TopState state;
    if (job_.empty()) return SitePicture(site, paper, &state);
    state.log_of = opened_.view().id();
    LogTail log(state.log_of);
    if (const base::Status read = log.Read(api, opened_.view()); !read.ok()) return read.error();
    const BarLayout layout{.columns = paper.columns, .unicode = paper.unicode};
    const BarDevice device = FirstDeviceOf(site, opened_.view());
    const OpenJob open{log.lines(), MemoryBar(opened_, device, layout), opened_};
    return LogPicture(site, open, paper, &state);
  }

  // Of all jobs that are seen, or of the one that is asked for.
  Listing ListingOf(const SiteView& site) const {
    std::vector<v1::JobView> jobs;
    if (!job_.empty()) jobs.push_back(opened_.view());
    for (const v1::JobView* job : site.jobs()) {
      if (job_.empty()) jobs.push_back(*job);
    }
    Listing listing = ListJobs(jobs, site.time);
    Json workers = Json::array();
    for (const v1::WorkerView& worker : site.workers)
      workers.push_back(record::WorkerRecord(worker));
    listing.members = {{"time", Seconds(site.time)}, {"workers", std::move(workers)}};
    return listing;
  }

  bool once_ = false;
  std::string columns_;  // empty: the picture
  std::string job_;
  v1::JobDetail opened_;  // of job_
};

}  // namespace

std::unique_ptr<Verb> MakeTop() { return std::make_unique<Top>(); }

}  // namespace trainctl::client
