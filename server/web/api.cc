#include "server/web/api.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "common/base/utf8.h"
#include "common/job/question.h"
#include "common/record/comparison_record.h"
#include "common/record/detail_record.h"
#include "common/record/document.h"
#include "common/record/job_record.h"
#include "common/record/lease_record.h"
#include "common/record/worker_record.h"
#include "server/auth/permissions.h"
#include "server/coordinator/comparison.h"
#include "server/coordinator/job_advice.h"
#include "server/coordinator/questions.h"
#include "server/views/encode_comparison.h"
#include "server/views/encode_lease.h"
#include "server/views/encode_site.h"
#include "server/web/curve_reads.h"
#include "server/web/documents.h"
#include "server/web/exposition.h"
#include "server/web/guard.h"
#include "server/web/log_excerpt.h"
#include "server/web/page.h"
#include "server/web/site_metrics.h"

namespace trainctl::web {
namespace {

using record::Json;
using StoredJobs = std::vector<store::StoredJob>;

constexpr int64_t kListedJobs = 100;
constexpr int64_t kMostListedJobs = 1000;
constexpr int64_t kMostRunning = 1000;
constexpr size_t kMostQueued = 1000;
constexpr size_t kMostCompared = 1000;
constexpr int kUnauthorized = 401;
constexpr std::string_view kSignInPage = "/sign-in";

Response Document(const Json& members) {
  Json document = {{"schema", "trainctl/v1"}};
  document.update(members);
  return {200, std::string(kJsonType), record::RenderLine(document)};
}

// A shared document, an object on a line, with a member of the caller's own behind the others.
Response WithOwn(const std::string& key, const std::string& value, const std::string& text) {
  Json member;
  member[key] = value;
  return {200, std::string(kJsonType),
          text.substr(0, text.rfind('}')) + "," + record::RenderLine(member).substr(1)};
}

Json SiteDocument(const v1::ListResponse& list) {
  Json jobs = Json::array(), workers = Json::array();
  for (const v1::JobView& job : list.jobs()) jobs.push_back(record::JobRecord(job));
  for (const v1::WorkerView& worker : list.workers())
    workers.push_back(record::WorkerRecord(worker));
  return {{"jobs", jobs}, {"workers", workers}};
}

using job::JobState;

// The newest, those that run and those of the queue however old they are; the newest first.
base::Result<StoredJobs> SiteJobs(store::Reader& reader, int64_t limit,
                                  const std::vector<base::JobId>& queue) {
  base::Result<StoredJobs> jobs = reader.Jobs({.limit = limit});
  if (!jobs) return jobs;
  std::set<base::JobId> known;
  for (const store::StoredJob& job : *jobs) known.insert(job.row.id);
  using enum JobState;
  auto unfinished =
      reader.Jobs({.states = {kStarting, kRunning, kStopping}, .limit = kMostRunning});
  if (!unfinished) return unfinished;
  auto queued = coordinator::ReadJobs(reader, queue);
  if (!queued) return queued;
  for (StoredJobs* more : {&*unfinished, &*queued}) {
    for (store::StoredJob& job : *more) {
      if (known.insert(job.row.id).second) jobs->push_back(std::move(job));
    }
  }
  std::ranges::stable_sort(*jobs, std::ranges::greater(),
                           [](const store::StoredJob& job) { return job.row.id; });
  return jobs;
}

// texts=all, or a step; not given: of the first and the last evaluation.
base::Result<store::TextsQuestion> TextsQuestionOf(const Target& target) {
  const std::string asked = target.One("texts");
  if (asked.empty() || asked == "all") return store::TextsQuestion{.all = !asked.empty()};
  const auto step = NumberOf(target, "texts", {0, std::numeric_limits<int64_t>::max(), 0});
  if (!step) return step.error();
  return store::TextsQuestion{.step = *step};
}

// Of the one job of the list, with the workers that its ranks are on.
Json ViewDocument(const v1::ListResponse& list) {
  const v1::JobView& job = list.jobs(0);
  Json workers = Json::array();
  for (const v1::WorkerView& worker : list.workers()) {
    const auto& placement = job.placement();
    if (std::find(placement.begin(), placement.end(), worker.name()) != placement.end())
      workers.push_back(record::WorkerRecord(worker));
  }
  return {{"job", record::JobRecord(job)}, {"workers", workers}};
}

// To whoever is not known: a page signs in, where a page was asked for.
Response WhoIsThat(const Request& request) {
  const base::Error& error = request.known.error();
  const bool is_page = !request.target.path.starts_with("/api/");
  const bool is_late = error.code == base::Code::kExhausted;
  Response response = is_page && !is_late ? PageOf(std::string(kSignInPage)) : ErrorResponse(error);
  response.status = is_late ? kTooManyRequests : kUnauthorized;
  return response;
}

}  // namespace

bool Api::Route::Leads(const Request& request) const {
  const std::string& target = request.target.path;
  return posted == request.posted &&
         (target == path || (path.size() > 1 && path.ends_with('/') && target.starts_with(path)));
}

std::span<const Api::Route> Api::Routes() {
  static constexpr Route kRoutes[] = {
      {"/api/site", "List", &Api::Site},
      {"/api/view", "List", &Api::View},
      {"/api/job", "Get", &Api::Job},
      {"/api/series", "Metrics", &Api::Series},
      {"/api/log", "Logs", &Api::Log},
      {"/api/compare", "Compare", &Api::Compare},
      {"/api/group", "List", &Api::Group},
      {"/api/queue", "Leases", &Api::Queue},
      {"/metrics", "Workers", &Api::Metrics},
      {"/", "List", &Api::Page},
      {"/job", "List", &Api::Page},
      {"/lab", "List", &Api::Page},
      {"/queue", "List", &Api::Page},
      {"/compare", "List", &Api::Page},
      {kSignInPage, "", &Api::Page},
      {"/assets/sign-in.js", "", &Api::Page},
      {"/assets/style.css", "", &Api::Page},
      {"/assets/icon.svg", "", &Api::Page},
      {"/assets/", "List", &Api::Page},
      {kSignInPath, "SignIn", &Api::SignIn, /*posted=*/true},
      {kSignOutPath, "SignIn", &Api::SignOut, /*posted=*/true},
      {"/api/metrics", "List", &Api::MetricList},
      {"/api/advice", "EarlierRuns", &Api::Advice},
  };
  return kRoutes;
}

void Api::Handle(Request request, Answer answer) {
  const auto route =
      std::ranges::find_if(Routes(), [&request](const Route& each) { return each.Leads(request); });
  const bool is_open = route != Routes().end() && route->rpc.empty();
  if (!is_open && !request.known) return answer(WhoIsThat(request));
  if (route == Routes().end())
    return answer(
        ErrorResponse({base::Code::kNotFound, "no page of that name; the first one is /"}));
  const base::Status allowed =
      is_open ? base::Status(base::Ok{}) : auth::CheckCall(request.caller, route->rpc);
  if (!allowed && request.posted) parts_.door->TellRefusal(request.caller, allowed.error());
  if (!allowed) return answer(ErrorResponse(allowed.error()));
  (this->*route->handle)(request, std::move(answer));
}

template <class Found, class Read, class Encode>
void Api::Ask(const Answer& answer, Read read, Encode encode) {
  parts_.reads.Ask<Found>(read, [answer, encode](base::Result<Found> found) {
    answer(found ? encode(std::move(*found)) : ErrorResponse(found.error()));
  });
}

// The order of the queue is the core's: the loop knows it.
template <class Read, class Complete>
void Api::AskOfQueue(const Request& request, Read read, Complete complete,
                     SharedDocument::Take take) {
  const auto make = [this, read, complete](SharedDocument::Take made) {
    auto queued = parts_.coordinator.FirstQueued(kMostQueued);
    parts_.reads.Ask<StoredJobs>(
        [read, queue = std::move(queued.first)](store::Reader& reader) {
          return read(reader, queue);
        },
        [this, complete, made, jobs = queued.jobs,
         devices = queued.devices](base::Result<StoredJobs> stored) {
          if (!stored) return made(stored.error());
          Json document = SiteDocument(views::EncodeList(parts_.coordinator, std::move(*stored)));
          document["queued_jobs"] = jobs;
          document["queued_devices"] = devices;
          complete(document);
          made(std::make_shared<const std::string>(Document(document).body));
        });
  };
  parts_.loop.Dispatch([this, make, live = request.live,
                        key = request.target.path + "?" + request.target.One("limit"), take] {
    if (!live) return make(take);
    const base::SteadyMicros now = parts_.coordinator.Now().steady;
    std::erase_if(shown_, [now](const auto& entry) { return entry.second.IsOver(now); });
    shown_[key].Look(now, make, take);
  });
}

void Api::Site(const Request& request, Answer answer) {
  const auto limit = NumberOf(request.target, "limit", {1, kMostListedJobs, kListedJobs});
  if (!limit) return answer(ErrorResponse(limit.error()));
  AskOfQueue(
      request,
      [limit = *limit](store::Reader& reader, const std::vector<base::JobId>& queue) {
        return SiteJobs(reader, limit, queue);
      },
      [this](Json& document) {
        document["unfinished_jobs"] = parts_.coordinator.state().jobs.size();
        document["version"] = parts_.version;
      },
      [answer, user = request.caller.name](const base::Result<SharedDocument::Text>& text) {
        answer(text ? WithOwn("user", user, **text) : ErrorResponse(text.error()));
      });
}

void Api::Group(const Request& request, Answer answer) {
  struct Found {
    store::Reader::Found group;
    StoredJobs jobs;
  };
  Ask<Found>(
      answer,
      [name = request.target.One("group")](store::Reader& reader) -> base::Result<Found> {
        auto group = coordinator::FindOne(reader, name);
        if (!group) return group.error();
        if (!group->group) {
          return base::Error{base::Code::kInvalid,
                             "group: '" + base::Excerpt(name, 64) + "' is a job: expected a group"};
        }
        auto jobs = coordinator::ReadJobs(reader, group->jobs);
        if (!jobs) return jobs.error();
        return Found{std::move(*group), std::move(*jobs)};
      },
      [this](Found found) {
        std::vector<const job::JobSpec*> specs;
        for (const store::StoredJob& job : found.jobs) specs.push_back(&job.row.spec);
        const std::vector<std::string> questions = job::QuestionsOf(specs);
        Json document = SiteDocument(views::EncodeList(parts_.coordinator, std::move(found.jobs)));
        document.erase("workers");
        document["group"] = base::ToString(found.group.group);
        document["group_name"] = found.group.group_name;
        document["questions"] = questions;
        return Document(document);
      });
}

void Api::Queue(const Request& request, Answer answer) {
  AskOfQueue(
      request, coordinator::ReadJobs,
      [this](Json& document) {
        document.erase("workers");
        document["leases"] = Json::array();
        const v1::LeasesResponse leases = views::EncodeLeases(parts_.coordinator);
        for (const v1::Lease& lease : leases.leases())
          document["leases"].push_back(record::LeaseRecord(lease));
      },
      [answer](const base::Result<SharedDocument::Text>& text) {
        answer(text ? Response{200, std::string(kJsonType), **text} : ErrorResponse(text.error()));
      });
}

void Api::View(const Request& request, Answer answer) {
  Ask<store::StoredJob>(
      answer,
      [name = request.target.One("job")](store::Reader& reader) {
        return coordinator::ReadOneJob(reader, name);
      },
      [this](store::StoredJob job) {
        return Document(ViewDocument(views::EncodeList(parts_.coordinator, {std::move(job)})));
      });
}

void Api::Job(const Request& request, Answer answer) {
  const auto texts = TextsQuestionOf(request.target);
  if (!texts) return answer(ErrorResponse(texts.error()));
  Ask<coordinator::Details>(
      answer,
      [name = request.target.One("job"),
       texts = *texts](store::Reader& reader) -> base::Result<coordinator::Details> {
        const auto job = coordinator::ReadOneJob(reader, name);
        if (!job) return job.error();
        return coordinator::ReadDetails(reader, base::ToString(job->row.id), texts);
      },
      [this](coordinator::Details details) {
        const v1::GetResponse response =
            views::EncodeDetails(parts_.coordinator, std::move(details));
        Json document = record::DetailRecord(response.jobs(0));
        document["memory"] =
            MemoryDocument(response.jobs(0), views::EncodeWorkers(parts_.coordinator));
        return Document(document);
      });
}

void Api::Series(const Request& request, Answer answer) {
  const auto question = CurveQuestionOf(request.target);
  if (!question) return answer(ErrorResponse(question.error()));
  Ask<Curves>(
      answer,
      [this, question = *question](store::Reader& reader) { return index_.Read(reader, question); },
      [](const Curves& curves) { return Document(CurvesDocument(curves)); });
}

void Api::Log(const Request& request, Answer answer) {
  const auto question = LogQuestionOf(request.target);
  if (!question) return answer(ErrorResponse(question.error()));
  Ask<store::StoredJob>(
      answer,
      [name = question->job](store::Reader& reader) {
        return coordinator::ReadOneJob(reader, name);
      },
      [this, question = *question](const store::StoredJob& job) {
        const auto piece = ReadLogExcerpt(parts_.coordinator, job, question);
        return piece ? Document(LogDocument(*piece)) : ErrorResponse(piece.error());
      });
}

void Api::Compare(const Request& request, Answer answer) {
  std::vector<std::string> jobs = request.target.All("job");
  if (jobs.size() > kMostCompared) {
    return answer(ErrorResponse({base::Code::kInvalid, "job: " + std::to_string(jobs.size()) +
                                                           " of them: expected up to " +
                                                           std::to_string(kMostCompared)}));
  }
  Ask<coordinator::Comparison>(
      answer,
      [jobs = std::move(jobs), base = request.target.One("base")](store::Reader& reader) {
        return coordinator::CompareJobs(reader, jobs, base);
      },
      [](const coordinator::Comparison& comparison) {
        return Document(record::ComparisonDocument(views::EncodeComparison(comparison)));
      });
}

void Api::Advice(const Request& request, Answer answer) {
  parts_.loop.Dispatch([this, name = request.target.One("job"), answer] {
    Ask<coordinator::JobAdvice>(
        answer,
        [name, site = coordinator::AdvisedSiteOf(parts_.coordinator.state())](
            store::Reader& reader) { return coordinator::AdviseJob(reader, site, name); },
        [](const coordinator::JobAdvice& advice) { return Document(AdviceDocument(advice)); });
  });
}

void Api::Metrics(const Request&, Answer answer) {
  Ask<store::JobCounts>(
      answer, [](store::Reader& reader) { return reader.CountJobs(); },
      [this](const store::JobCounts& jobs) {
        return Response{200, std::string(kExpositionType),
                        SiteMetrics({parts_.coordinator, parts_.meters, parts_.rate.refused(), jobs,
                                     parts_.version})};
      });
}

void Api::MetricList(const Request&, Answer answer) { answer(Document(MetricsDocument())); }

void Api::Page(const Request& request, Answer answer) { answer(PageOf(request.target.path)); }

void Api::SignIn(const Request& request, Answer answer) {
  parts_.door->SignIn(request.caller, std::move(answer));
}

void Api::SignOut(const Request& request, Answer answer) {
  answer(parts_.door->SignOut(request.caller));
}

}  // namespace trainctl::web
