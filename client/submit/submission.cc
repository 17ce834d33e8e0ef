#include "client/submit/submission.h"

#include <algorithm>
#include <set>
#include <utility>

#include "client/exit_code.h"
#include "client/naming.h"
#include "client/show/decoded.h"
#include "client/show/format.h"
#include "client/show/job_listing.h"
#include "client/show/site_time.h"
#include "client/submit/asked_again.h"
#include "client/submit/dependencies.h"
#include "client/submit/dry_run.h"
#include "client/submit/folder_claims.h"
#include "client/submit/folder_owner.h"
#include "client/submit/follow.h"
#include "client/submit/lab_time.h"
#include "client/submit/prediction.h"
#include "client/submit/resumed_run.h"
#include "client/submit/seed_note.h"
#include "client/submit/within.h"
#include "common/estimate/prediction.h"
#include "common/job/job_json.h"

namespace trainctl::client {
namespace {

// ---- requests ----

v1::SubmitRequest RequestFor(const JobFile& file, const std::vector<Assessment>& assessments,
                             const SubmitOptions& options, std::string request_id) {
  v1::SubmitRequest request;
  request.set_force(options.force);
  if (!file.group_name.empty()) request.set_max_parallel(options.max_parallel.value_or(0));
  request.set_request_id(std::move(request_id));
  request.set_group_name(file.group_name);
  for (size_t i = 0; i < file.jobs.size(); ++i) {
    v1::JobSubmission& submission = *request.add_jobs();
    job::JobSpec job = file.jobs[i];
    job.train.micro_batch_size = assessments[i].job.train.micro_batch_size;
    submission.set_job_json(job::ToJson(job));
    submission.set_micro_batch_auto(!file.jobs[i].train.micro_batch_size);
    if (assessments[i].inspection)
      submission.set_inspection_json(job::ToJson(*assessments[i].inspection));
    if (assessments[i].prediction) {
      submission.set_prediction_json(
          job::ToJson(job::Prediction{*assessments[i].prediction, assessments[i].time}));
    }
  }
  return request;
}

Json SubmittedRecord(const v1::SubmittedJob& job) {
  return {{"id", job.id()}, {"name", job.name()}};
}

// Of one job its record alone.
void PrintJobs(Context& context, const v1::SubmitResponse& response, Listing listing) {
  if (!response.group().empty()) listing.members["group"] = response.group();
  if (context.format == OutputFormat::kJson && response.group().empty()) {
    context.out << RenderDocument(listing.records.front()) << std::flush;
    return;
  }
  Print(context, listing);
}

void PrintSubmitted(Context& context, const v1::SubmitResponse& response) {
  Listing listing{.collection = "jobs", .table = TextTable({{"ID"}, {"NAME"}})};
  for (const v1::SubmittedJob& job : response.jobs()) {
    listing.records.push_back(SubmittedRecord(job));
    listing.table.AddRow({job.id(), job.name()});
  }
  PrintJobs(context, response, std::move(listing));
}

// How they ended, or as they were last seen; nothing was seen where the coordinator went away.
void PrintFollowed(Context& context, const v1::SubmitResponse& response,
                   const std::vector<v1::JobView>& jobs) {
  if (jobs.empty()) return PrintSubmitted(context, response);
  PrintJobs(context, response, ListJobs(jobs, SiteTime(jobs, context.clock())));
}

// Of two that run at once under one name, people mean one and get the other.
// Empty: nothing else of that name runs.
std::string NoteOnNamesakes(Context& context, const JobFile& file) {
  const std::string& name = file.is_lab ? file.group_name : file.jobs.front().name;
  std::vector<Namesake> unfinished = FindNamesakes(context, name);
  std::erase_if(unfinished, [](const Namesake& one) { return one.ended; });
  if (unfinished.empty()) return "";
  return "note: " + NamesakesText(name, unfinished) +
         (unfinished.size() == 1 ? ", and has" : ", and have") +
         " not ended; from now on the name means the new one\n";
}

// Who may not ask what a worker sees may not submit.
bool RefuseDenied(const base::Result<job::Inspection>& inspection, Assessment* assessment) {
  if (inspection.ok() || inspection.error().code != base::Code::kDenied) return false;
  assessment->is_denied = true;
  assessment->site_problems.push_back(
      {"submit", 0, "", "a user who may submit here", inspection.error().message});
  return true;
}

// Every connected host has looked, and all of the site are: there is no other on which it could be
// otherwise.
bool IsCertain(const base::Error& inspection, const Site& site) {
  std::set<std::string> hosts, connected;
  for (const SiteWorker& worker : site.workers) {
    hosts.insert(worker.device.host);
    if (worker.state != job::WorkerState::kLost) connected.insert(worker.device.host);
  }
  return inspection.code == base::Code::kInvalid && !hosts.empty() && connected == hosts;
}

// Each text once. Of a note on some experiments, the file's own begins with the experiment's name.
void SayNotes(Context& context, const std::vector<Assessment>& assessments,
              std::set<std::string>* said) {
  for (const Assessment& assessment : assessments) {
    for (const std::string& note : assessment.notes) {
      const std::string named = assessment.job.name + ": " + note;
      if (said->contains(named) || !said->insert(note).second) continue;
      context.err << "note: " << named << std::endl;
    }
  }
}

// The coordinator refuses them all or none.
void RefuseFullQueue(const Site& site, std::vector<Assessment>* assessments) {
  if (!site.bounds || !site.bounds->policy.max_queued_jobs) return;
  const auto jobs = static_cast<int64_t>(assessments->size());
  const int64_t most = *site.bounds->policy.max_queued_jobs, waiting = site.bounds->waiting_jobs;
  if (waiting + jobs <= most) return;
  for (Assessment& assessment : *assessments) {
    assessment.site_problems.push_back(
        {"submit", 0, std::to_string(jobs) + (jobs == 1 ? " job" : " jobs"),
         "at most " + std::to_string(most) + " of " + site.bounds->user + " that wait at once",
         std::to_string(waiting) + " wait now"});
  }
}

int DryRun(Context& context, const JobFile& file, const std::optional<v1::Lease>& lease,
           const SubmitOptions& options) {
  const Site site = AskSite(context);
  base::Result<std::vector<Assessment>> assessments =
      AssessAll(context, file, site, options.force, lease);
  if (!assessments.ok()) return Fail(context, assessments.error());
  RefuseFullQueue(site, &*assessments);
  Forecast forecast{*assessments, file.variants, site.known, {}, lease};
  const auto leases =
      site.known ? context.api->Leases() : base::Result<v1::LeasesResponse>(v1::LeasesResponse());
  if (leases.ok()) forecast.leases = *leases;
  return ShowDryRun(context, forecast, options);
}

int Report(Context& context, const v1::SubmitResponse& response, const JobFile& file,
           const std::vector<Assessment>& assessments, const SubmitOptions& options) {
  for (const std::string& warning : response.warnings()) Warn(context, warning);
  if (options.follow) return options.follow(context, response);
  const std::string id = response.group().empty() ? response.jobs(0).id() : response.group();
  const bool tells_end = options.wait && !context.for_people();
  if (!context.for_people() && !tells_end) PrintSubmitted(context, response);
  if (!response.group().empty())
    Say(context, "Submitted group " + NameWithId(file.group_name, id) + " of " +
                     Plural(response.jobs_size(), "job") + ".\n");
  for (int i = 0; i < response.jobs_size(); ++i) {
    Say(context, "Submitted " + response.jobs(i).name() + " as " + response.jobs(i).id() + ".\n" +
                     FactsText(assessments[static_cast<size_t>(i)],
                               context.surroundings.out_terminal.layout));
  }
  if (!options.within_seconds) SayWholeTime(context, assessments, options);
  if (options.wait) {
    const Followed followed = Follow(context, {.jobs = {id},
                                               .again = id,
                                               .timeout_seconds = options.timeout_seconds,
                                               .coordinator_answered = true});
    if (tells_end) PrintFollowed(context, response, followed.jobs);
    return followed.exit_code;
  }
  Say(context, "Follow with: trainctl wait " + id + "\n");
  return kExitOk;
}

}  // namespace

base::Result<std::vector<Assessment>> AssessAll(Context& context, const JobFile& file,
                                                const Site& site, bool force,
                                                const std::optional<v1::Lease>& lease) {
  Inspector inspector(context, site.known);
  const Site own = lease ? OnlyLeased(*lease, site) : site;
  std::vector<Assessment> assessments;
  std::set<std::string> said(file.notes.begin(), file.notes.end());
  for (const job::JobSpec& job : file.jobs) {
    const base::Result<job::Inspection> inspection = inspector.Inspect(job);
    base::Result<Assessment> assessment =
        Assess({job, inspection.ok() ? std::optional(*inspection) : std::nullopt,
                FindResumedRun(context, job)},
               own, force);
    if (!assessment.ok())
      return base::Error{assessment.error().code, job.name + ": " + assessment.error().message};
    const bool may_come = force || !job.resources.after.empty();  // what it reads, in time
    if (RefuseDenied(inspection, &*assessment)) {
      // It is no matter of what can be read.
    } else if (!inspection.ok() && !may_come && IsCertain(inspection.error(), site)) {
      assessment->site_problems.push_back({"model and data", 0, "",
                                           "what a host of the site can read",
                                           inspection.error().message + " (--force submits it)"});
    } else if (!inspection.ok() && said.insert(inspection.error().message).second) {
      Warn(context,
           job.name + ": model and data could not be inspected (" + inspection.error().message +
               "): steps and memory stay unknown; it is tried again before the job starts");
    }
    if (lease) CheckLease(*lease, site, &*assessment);
    CheckFolderOwner(context, site, &*assessment);
    assessments.push_back(std::move(*assessment));
  }
  RefuseClaimedFolders(context, &assessments);
  PredictTimes(context, &assessments);
  SayNotes(context, assessments, &said);
  const std::string seeds = SeedNote(assessments, file.variants);
  if (!seeds.empty()) context.err << "note: " << seeds << std::endl;
  return assessments;
}

void SayWholeTime(Context& context, const std::vector<Assessment>& assessments,
                  const SubmitOptions& options) {
  const LabTime lab = PredictLab(assessments, options.max_parallel);
  if (assessments.size() < 2 || lab.experiments == 0) return;
  Say(context, WrapLines("All of it: " + LabText(lab, options.within_seconds) + ".",
                         context.surroundings.out_terminal.layout.width));
}

std::string RefusalsOf(const std::vector<Assessment>& assessments) {
  std::string refusals;
  for (const Assessment& assessment : assessments) {
    if (assessment.site_problems.empty()) continue;
    refusals +=
        (refusals.empty() ? "" : "\n") + job::Format(assessment.site_problems, assessment.job.name);
  }
  return refusals;
}

base::Error RefusedBySite(const std::vector<Assessment>& assessments) {
  const bool is_denied = std::ranges::any_of(assessments, &Assessment::is_denied);
  return {is_denied ? base::Code::kDenied : base::Code::kInvalid,
          "refused by this site:\n" + RefusalsOf(assessments)};
}

base::Result<v1::SubmitResponse> Send(Context& context, Api& api, const JobFile& file,
                                      const std::vector<Assessment>& assessments,
                                      const SubmitOptions& options) {
  if (!RefusalsOf(assessments).empty()) return RefusedBySite(assessments);
  const v1::SubmitRequest request =
      RequestFor(file, assessments, options, context.surroundings.new_request_id());
  base::Result<v1::SubmitResponse> response = AskAgain(context, api, &Api::Submit, request);
  if (response.ok() && response->jobs_size() != static_cast<int>(file.jobs.size())) {
    return base::Error{base::Code::kInternal,
                       "the coordinator accepted another number of jobs than were sent"};
  }
  return response;
}

void DeclareSubmitOptions(Arguments& arguments, SubmitOptions* options) {
  arguments.Switch("--wait", &options->wait,
                   "follow until the end; the exit status says how it ended");
  arguments.Duration(
      "--timeout", &options->timeout_seconds,
      "with --wait: stop following after this time (exit status 124); the jobs go on");
  arguments.Switch(
      "--dry-run", &options->dry_run,
      "submit nothing: show where it would run, steps, time and predicted memory; exit status 4 "
      "where it would be refused here");
  arguments.Switch("--full", &options->full,
                   "with --dry-run: of each job its memory by kind and every setting");
  arguments.Text(
      "--within", "LEASE|TIME", &options->within,
      "run under this lease, on its devices, and say whether all of it fits what is left "
      "of it; or with --dry-run whether it fits a time such as 3h: exit status 4 where "
      "it does not");
  arguments.Switch("--force", &options->force,
                   "submit it though it is predicted to fit no device of the site; or though its "
                   "host can't read model or data");
  arguments.Number("--max-parallel", "N", &options->max_parallel,
                   "of a lab file or sweep: at most N of its jobs at once; default: any number",
                   /*least=*/1);
  arguments.Needs("--timeout", {"--wait"});
  arguments.Needs("--full", {"--dry-run"});
}

base::Status CheckBound(bool is_group, const SubmitOptions& options) {
  if (!options.max_parallel || is_group) return base::Ok{};
  return base::Error{base::Code::kInvalid,
                     "--max-parallel is for the jobs of a lab file or sweep, and this is one job"};
}

int SubmitJobs(Context& context, const JobFile& given, const SubmitOptions& asked) {
  if (const base::Status bound = CheckBound(given.is_lab, asked); !bound.ok())
    return Fail(context, bound.error());
  for (const std::string& note : given.notes) context.err << "note: " << note << std::endl;
  const base::Result<JobFile> resolved = ResolveDependencies(context, given);
  if (!resolved.ok()) return Fail(context, resolved.error());
  JobFile file = *resolved;
  SubmitOptions options = asked;
  const base::Result<std::optional<v1::Lease>> lease = FindWithin(context, &file.jobs, &options);
  if (!lease.ok()) return Fail(context, lease.error());
  if (options.dry_run) return DryRun(context, file, *lease, options);
  const base::Result<Api*> api = NeedApi(context);
  if (!api.ok()) return Fail(context, api.error());
  const base::Result<std::vector<Assessment>> assessments =
      AssessAll(context, file, AskSite(context), options.force, *lease);
  if (!assessments.ok()) return Fail(context, assessments.error());
  if (*lease) SayWhetherItFits(context, *assessments, options);
  const std::string namesakes = NoteOnNamesakes(context, file);
  const base::Result<v1::SubmitResponse> response =
      Send(context, **api, file, *assessments, options);
  if (!response.ok()) return Fail(context, response.error());
  context.err << namesakes << std::flush;
  return Report(context, *response, file, *assessments, options);
}

}  // namespace trainctl::client
