#include "client/submit/generation.h"

#include <algorithm>
#include <utility>

#include "client/exit_code.h"
#include "client/show/calendar_time.h"
#include "client/show/decoded.h"
#include "client/show/format.h"
#include "client/submit/follow.h"
#include "client/submit/patience.h"
#include "common/job/job_json.h"
#include "common/job/resumed_run.h"

namespace trainctl::client {
namespace {

constexpr double kTextsPeriodSeconds = 60;

base::Error NoModel(const v1::JobDetail& detail) {
  const v1::JobView& view = detail.view();
  const base::Result<job::JobSpec> job = job::FromJson(detail.job_json());
  if (!job.ok()) return job.error();
  const std::string why =
      job->output.save == job::Save::kNone
          ? "its output.save was \"none\"; train it with --output.dir DIR --output.save final"
          : "it ended " + view.outcome() + " before; trainctl explain " + view.id() + " says why";
  return {base::Code::kInvalid, NameWithId(view.name(), view.id()) + " has saved no model: " + why};
}

// Follows one job and shows its texts.
class TextFollower {
 public:
  TextFollower(Context& context, std::string job, const std::optional<int64_t>& timeout_seconds)
      : context_(context),
        job_(std::move(job)),
        timeout_seconds_(timeout_seconds),
        started_(context.clock().Steady()),
        printer_(context.out),
        patience_(context.clock(),
                  [this](const std::string& text) { context_.err << text << std::endl; }) {
    patience_.Heard();
  }

  int Run(Api& api) {
    v1::WatchRequest request;
    request.add_jobs(job_);
    while (true) {
      const base::Status status = api.Watch(request, std::min(kTextsPeriodSeconds, SecondsLeft()),
                                            [this](const v1::JobView& view) {
                                              Hear(view);
                                              return !has_ended_ && SecondsLeft() > 0;
                                            });
      if (has_ended_) return End();
      if (SecondsLeft() <= 0) return TimedOut();
      if (!status.ok() && !patience_.Bear(status.error())) return Fail(context_, status.error());
      context_.surroundings.sleep(std::min(Patience::kRetrySeconds, SecondsLeft()));
    }
  }

 private:
  void Hear(const v1::JobView& view) {
    patience_.Heard();
    if (context_.for_people()) TellWaiting(view);
    const bool is_over = HasEnded(view);
    if (!is_over && !context_.for_people()) return;
    base::Result<v1::JobDetail> detail = GetOneJob(context_, job_);
    if (!detail.ok()) return;  // the next word of it brings them
    detail_ = std::move(*detail);
    if (context_.for_people()) printer_.Show(detail_);
    view_ = view;
    has_ended_ = is_over;
  }

  // What people wait for, each thing once.
  void TellWaiting(const v1::JobView& view) {
    if (StateOf(view) != job::JobState::kQueued || view.reason().empty() ||
        view.reason() == waits_for_)
      return;
    waits_for_ = view.reason();
    context_.err << view.id() << " waits: " << InLocalTime(waits_for_) << std::endl;
  }

  int End() {
    printer_.Finish();
    if (!context_.for_people()) PrintTexts();
    if (!Succeeded(view_)) {
      Warn(context_, NameWithId(view_.name(), view_.id()) + " ended " + view_.outcome() +
                         (view_.message().empty() ? "" : ": " + view_.message()));
    }
    return ExitCodeOfJob(view_);
  }

  void PrintTexts() {
    Listing listing{.collection = "continuations",
                    .table = TextTable({{"JOB"}, {"PLACE", true}, {"PROMPT"}, {"TEXT"}}),
                    .name_key = "text",
                    .members = {{"id", view_.id()}, {"outcome", view_.outcome()}}};
    for (const v1::Continuation& said : detail_.continuations()) {
      listing.records.push_back({{"job", view_.id()},
                                 {"place", said.place()},
                                 {"prompt", said.prompt()},
                                 {"text", said.text()}});
      listing.table.AddRow({view_.id(), std::to_string(said.place()), said.prompt(), said.text()});
    }
    Print(context_, listing);
  }

  int TimedOut() {
    printer_.Finish();
    context_.err << "trainctl: the time is over and the job goes on; its texts: trainctl describe "
                 << job_ << std::endl;
    return kExitTimeout;
  }

  double SecondsLeft() const {
    if (!timeout_seconds_) return 1e9;
    return static_cast<double>(*timeout_seconds_) -
           static_cast<double>(context_.clock().Steady() - started_) / 1e6;
  }

  Context& context_;
  const std::string job_;
  const std::optional<int64_t> timeout_seconds_;
  const int64_t started_;
  TextPrinter printer_;
  Patience patience_;
  v1::JobDetail detail_;
  v1::JobView view_;  // as last seen
  std::string waits_for_;
  bool has_ended_ = false;
};

}  // namespace

base::Result<v1::Artifact> SavedModel(const v1::JobDetail& detail) {
  const v1::JobView& view = detail.view();
  if (!HasEnded(view)) {
    return base::Error{base::Code::kConflict, NameWithId(view.name(), view.id()) + " is " +
                                                  view.state() +
                                                  ": its model is saved at its end; wait for it "
                                                  "with: trainctl wait " +
                                                  view.id()};
  }
  const v1::Artifact* last = nullptr;
  for (const v1::Artifact& artifact : detail.artifacts()) {
    if (job::IsModel(artifact.kind())) last = &artifact;
  }
  return last == nullptr ? base::Result<v1::Artifact>(NoModel(detail)) : *last;
}

base::Result<job::JobSpec> GenerationOf(const v1::JobDetail& detail, const v1::Artifact& model,
                                        const std::vector<std::string>& prompts,
                                        const std::vector<std::string>& images,
                                        const job::UserPolicy& policy) {
  const v1::JobView& view = detail.view();
  const base::Result<job::JobSpec> trained = job::FromJson(detail.job_json());
  if (!trained.ok()) return trained.error();
  job::JobSpec job;
  job.name = "generate-" + view.id();
  job.notes = "texts by the model of " + NameWithId(view.name(), view.id());
  job.model.path = model.path();
  job.data = trained->data;  // is not read
  job.precision = trained->precision;
  job.engine = trained->engine;
  job.deterministic = trained->deterministic;
  job.seed = trained->seed;
  job.train.max_steps = 0;
  job.train.micro_batch_size = 1;
  job.train.max_seq_length = trained->train.max_seq_length;
  job.eval.prompts = prompts;
  job.eval.images = images;
  if (model.kind() == "adapter") {
    job.lora = trained->lora;
    job.quantize = trained->quantize;
  }
  job.resources.constraints = trained->resources.constraints;
  job.resources.priority =
      std::clamp(job::PriorityOf(*trained), policy.min_priority, policy.max_priority);
  if (!model.host().empty()) job.resources.constraints["host"] = "=" + model.host();
  return job;
}

void TextPrinter::Show(const v1::JobDetail& detail) {
  if (detail.continuations().empty()) return;
  const base::Result<job::JobSpec> job = job::FromJson(detail.job_json());
  const bool answers = job.ok() && job::PromptsAreTurns(*job);
  for (const v1::Continuation& said : detail.continuations()) {
    if (place_ && said.place() < *place_) continue;
    const bool goes_on = place_ == said.place() && said.text().starts_with(shown_);
    if (goes_on) {
      out_ << said.text().substr(shown_.size());
    } else {
      out_ << (!place_                  ? ""
               : place_ == said.place() ? "\n"
                                        : "\n\n")
           << said.prompt() << (answers ? "\n" : "") << said.text();
    }
    place_ = said.place();
    shown_ = said.text();
  }
  out_ << std::flush;
}

void TextPrinter::Finish() {
  if (place_) out_ << std::endl;
}

int FollowTexts(Context& context, const std::string& job,
                const std::optional<int64_t>& timeout_seconds) {
  const base::Result<Api*> api = NeedApi(context);
  if (!api.ok()) return Fail(context, api.error());
  context.surroundings.set_farewell("Detached: the job goes on. Its texts: trainctl describe " +
                                    job);
  const int exit_code = TextFollower(context, job, timeout_seconds).Run(**api);
  context.surroundings.set_farewell("");
  return exit_code;
}

}  // namespace trainctl::client
