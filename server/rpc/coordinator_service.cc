#include "server/rpc/coordinator_service.h"

#include <vector>

#include "common/estimate/memory_estimate.h"
#include "common/job/job_json.h"
#include "common/wire/artifact.h"
#include "common/wire/earlier_runs.h"
#include "common/wire/output_removal.h"
#include "server/coordinator/comparison.h"
#include "server/coordinator/earlier_runs.h"
#include "server/coordinator/questions.h"
#include "server/rpc/decode_question.h"
#include "server/rpc/decode_submit.h"
#include "server/rpc/log_stream.h"
#include "server/rpc/metrics_stream.h"
#include "server/rpc/unary_call.h"
#include "server/rpc/watch_stream.h"
#include "server/views/encode_comparison.h"
#include "server/views/encode_lease.h"
#include "server/views/encode_site.h"

namespace trainctl::rpc {
namespace {

using StoredJobs = std::vector<store::StoredJob>;

// A request that any client may make as it is.
template <class Request>
auto AsItIs(const Request* request) {
  return [request] { return base::Result<const Request*>(request); };
}

// The first of the names: they are for people, and cut by who shows them.
std::string Joined(const google::protobuf::RepeatedPtrField<std::string>& names) {
  constexpr int kMost = 10;
  std::string text;
  for (int i = 0; i < names.size() && i < kMost; ++i) text += (i == 0 ? "" : " ") + names[i];
  return names.size() > kMost ? text + " …" : text;
}

struct JobPage {
  StoredJobs jobs;
  bool more = false;  // older ones pass too
};

// One more than is asked for tells whether there are more.
base::Result<JobPage> ReadPage(store::Reader& reader, store::JobFilter filter) {
  const auto most = static_cast<size_t>(filter.limit++);
  auto jobs = reader.Jobs(filter);
  if (!jobs) return jobs.error();
  const bool more = jobs->size() > most;
  if (more) jobs->pop_back();
  return JobPage{*std::move(jobs), more};
}

// The jobs, if the caller may make the call on each of them.
base::Result<StoredJobs> TheirsToTouch(const Permit& permit, base::Result<StoredJobs> jobs) {
  if (!jobs) return jobs;
  for (const store::StoredJob& job : *jobs) {
    const base::Status theirs = permit.MayTouch(base::ToString(job.row.id), job.row.user);
    if (!theirs) return theirs.error();
  }
  return jobs;
}

v1::SubmittedJob EncodeName(base::JobId id, const std::string& name) {
  v1::SubmittedJob message;
  message.set_id(base::ToString(id));
  message.set_name(name);
  return message;
}

// Tells which jobs it is about, and returns their ids.
template <class Response>
std::vector<base::JobId> EncodeNames(const StoredJobs& jobs, Response* response) {
  std::vector<base::JobId> ids;
  for (const store::StoredJob& job : jobs) {
    ids.push_back(job.row.id);
    *response->add_jobs() = EncodeName(job.row.id, job.row.spec.name);
  }
  return ids;
}

// What is done to the jobs that are named, if each is the caller's to touch.
template <class Response, class Change>
void ChangeJobs(const Entry& entry, const google::protobuf::RepeatedPtrField<std::string>& names,
                Response* response, Change change) {
  AskStoreThenLoop<base::Ok>(
      entry, [&names] { return DecodeNames(names, Names::kRequired); },
      [](const Permit& permit, store::Reader& reader,
         const auto& asked) -> base::Result<StoredJobs> {
        const auto jobs = coordinator::FindJobs(reader, asked);
        if (!jobs) return jobs.error();
        return TheirsToTouch(permit, coordinator::ReadJobs(reader, *jobs));
      },
      [&coordinator = entry.call.backend().coordinator, response, change](
          const Permit& permit, const StoredJobs& jobs, auto answer) {
        (coordinator.*change)(EncodeNames(jobs, response), permit.caller, answer);
      },
      [](base::Ok) {});
}

v1::AuditEntry EncodeAudit(const store::AuditRow& row) {
  v1::AuditEntry entry;
  entry.set_id(row.id);
  entry.set_time(row.at);
  entry.set_actor(row.actor);
  entry.set_address(row.address);
  entry.set_action(row.action);
  entry.set_subject(row.subject);
  entry.set_verdict(row.verdict);
  return entry;
}

void EncodeSubmitted(const coordinator::Submitted& submitted, v1::SubmitResponse* response) {
  if (submitted.group) response->set_group(base::ToString(submitted.group));
  for (const coordinator::Submitted::Job& job : submitted.jobs)
    *response->add_jobs() = EncodeName(job.id, job.name);
  for (const std::string& warning : submitted.warnings) response->add_warnings(warning);
}

}  // namespace

CoordinatorService::CoordinatorService(Backend& backend, std::string version, Dashboards dashboards)
    : backend_(backend),
      version_(std::move(version)),
      dashboards_(std::move(dashboards)),
      methods_(backend,
               *v1::SubmitRequest::descriptor()->file()->FindServiceByName("Coordinator")) {
  Add("Submit", &CoordinatorService::Submit);
  Add("List", &CoordinatorService::List);
  Add("Get", &CoordinatorService::Get);
  Add("Cancel", &CoordinatorService::Cancel);
  Add("Remove", &CoordinatorService::Remove);
  Add("RemoveOutputs", &CoordinatorService::RemoveOutputs);
  Add("Compare", &CoordinatorService::Compare);
  Add("Inspect", &CoordinatorService::Inspect);
  Add("EarlierRuns", &CoordinatorService::EarlierRuns);
  Add("Fence", &CoordinatorService::Fence);
  Add("RemoveWorker", &CoordinatorService::RemoveWorker);
  Add("Drain", &CoordinatorService::Drain);
  Add("Undrain", &CoordinatorService::Undrain);
  Add("CreateLease", &CoordinatorService::CreateLease);
  Add("FindLease", &CoordinatorService::FindLease);
  Add("Leases", &CoordinatorService::Leases);
  Add("ExtendLease", &CoordinatorService::ExtendLease);
  Add("DeleteLease", &CoordinatorService::DeleteLease);
  Add("ReadArtifact", &CoordinatorService::ReadArtifact);
  Add("Workers", &CoordinatorService::Workers);
  Add("Audit", &CoordinatorService::Audit);
  Add("Backup", &CoordinatorService::Backup);
  Add("SignIn", &CoordinatorService::SignIn);
  Add("CreateToken", &CoordinatorService::CreateToken);
  Add("ListTokens", &CoordinatorService::ListTokens);
  Add("RevokeToken", &CoordinatorService::RevokeToken);
  Add("RevokeHost", &CoordinatorService::RevokeHost);
  methods_.AddStream<WatchStream>("Watch");
  methods_.AddStream<LogStream>("Logs");
  methods_.AddStream<MetricsStream>("Metrics");
  methods_.CheckComplete();
}

template <class Request, class Response>
void CoordinatorService::Add(const char* rpc,
                             void (CoordinatorService::*work)(UnaryCall&, const Request*,
                                                              Response*)) {
  methods_.AddUnary<Request, Response>(
      rpc, [this, work](UnaryCall& call, const Request* request, Response* response) {
        (this->*work)(call, request, response);
      });
}

void CoordinatorService::Submit(UnaryCall& call, const v1::SubmitRequest* request,
                                v1::SubmitResponse* response) {
  AskLoop<coordinator::Submitted>(
      {call, request->group_name()}, [=] { return DecodeSubmit(*request); },
      [this](const Permit& permit, auto submission, auto answer) {
        submission.user = permit.caller.name;
        backend_.coordinator.Submit(std::move(submission), permit.caller, answer);
      },
      [response](const auto& submitted) { EncodeSubmitted(submitted, response); });
}

void CoordinatorService::List(UnaryCall& call, const v1::ListRequest* request,
                              v1::ListResponse* response) {
  AskStore(
      {call}, [=] { return DecodeList(*request); },
      [](const Permit&, store::Reader& reader, ListQuestion& question) -> base::Result<JobPage> {
        if (question.names.empty()) return ReadPage(reader, question.filter);
        auto jobs = coordinator::FindJobs(reader, question.names);
        if (!jobs) return jobs.error();
        question.filter.jobs = std::move(*jobs);
        return ReadPage(reader, question.filter);
      },
      [this, response, with_loads = request->load_history()](JobPage page) {
        *response = views::EncodeList(backend_.coordinator, std::move(page.jobs));
        response->set_more(page.more);
        if (with_loads) views::AddLoads(backend_.coordinator, response->mutable_workers());
      });
}

void CoordinatorService::Get(UnaryCall& call, const v1::GetRequest* request,
                             v1::GetResponse* response) {
  AskStore(
      {call}, AsItIs(request),
      [](const Permit&, store::Reader& reader, const v1::GetRequest* asked) {
        store::TextsQuestion texts{.all = asked->all_texts()};
        if (asked->has_texts_of_step()) texts.step = asked->texts_of_step();
        return coordinator::ReadDetails(reader, asked->job(), texts);
      },
      [this, response](coordinator::Details details) {
        *response = views::EncodeDetails(backend_.coordinator, std::move(details));
      });
}

void CoordinatorService::Cancel(UnaryCall& call, const v1::CancelRequest* request,
                                v1::CancelResponse* response) {
  ChangeJobs({call, Joined(request->jobs())}, request->jobs(), response,
             &coordinator::Coordinator::Cancel);
}

void CoordinatorService::Remove(UnaryCall& call, const v1::RemoveRequest* request,
                                v1::RemoveResponse* response) {
  ChangeJobs({call, Joined(request->jobs())}, request->jobs(), response,
             &coordinator::Coordinator::RemoveJobs);
}

void CoordinatorService::RemoveOutputs(UnaryCall& call, const v1::RemoveOutputsRequest* request,
                                       v1::RemoveOutputsResponse* response) {
  AskStoreThenLoop<std::vector<job::HostOutputs>>(
      {call, request->job()}, AsItIs(request),
      [](const Permit& permit, store::Reader& reader,
         const v1::RemoveOutputsRequest* asked) -> base::Result<coordinator::JobOutputs> {
        const auto job = coordinator::ReadOneJob(reader, asked->job());
        if (!job) return job.error();
        const base::Status theirs = permit.MayTouch(base::ToString(job->row.id), job->row.user);
        if (!theirs) return theirs.error();
        return coordinator::FindOutputs(reader, job->row);
      },
      [this, request, response](const Permit& permit, coordinator::JobOutputs outputs,
                                auto answer) {
        *response->mutable_job() = EncodeName(outputs.job, outputs.name);
        response->set_output_dir(outputs.output_dir);
        backend_.coordinator.RemoveOutputs(std::move(outputs), request->look_only(), permit.caller,
                                           answer);
      },
      [response](const std::vector<job::HostOutputs>& hosts) {
        for (const job::HostOutputs& host : hosts) {
          v1::HostOutputs& told = *response->add_hosts();
          told = wire::ToWire(host.answer);
          told.set_host(host.host);
        }
      });
}

void CoordinatorService::Compare(UnaryCall& call, const v1::CompareRequest* request,
                                 v1::CompareResponse* response) {
  AskStore(
      {call}, [=] { return DecodeNames(request->jobs(), Names::kOptional); },
      [base = request->base()](const Permit&, store::Reader& reader, const auto& names) {
        return coordinator::CompareJobs(reader, names, base);
      },
      [response](const auto& comparison) { *response = views::EncodeComparison(comparison); });
}

void CoordinatorService::Inspect(UnaryCall& call, const v1::InspectRequest* request,
                                 v1::InspectResponse* response) {
  AskLoop<job::Inspection>(
      {call}, [=] { return CheckInspect(request); },
      [this](const Permit& permit, const v1::InspectRequest* asked, auto answer) {
        backend_.coordinator.Inspect(asked->job_json(), permit.caller.name, answer);
      },
      [response](const auto& inspection) {
        response->set_inspection_json(job::ToJson(inspection));
      });
}

void CoordinatorService::EarlierRuns(UnaryCall& call, const v1::EarlierRunsRequest* request,
                                     v1::EarlierRunsResponse* response) {
  AskStore(
      {call}, [=] { return DecodeKeys(*request); },
      [](const Permit&, store::Reader& reader, const auto& keys) {
        return coordinator::FindEarlierRuns(reader, keys);
      },
      [response](const auto& found) {
        for (const job::EarlierTimes& times : found.jobs)
          *response->add_jobs() = wire::ToWire(times);
        for (const job::DevicePower& power : found.powers)
          *response->add_powers() = wire::ToWire(power);
      });
}

void CoordinatorService::Fence(UnaryCall& call, const v1::FenceRequest* request,
                               v1::FenceResponse*) {
  AskLoop<base::Ok>(
      {call, request->worker()}, AsItIs(request),
      [this](const Permit& permit, const v1::FenceRequest* asked, auto answer) {
        backend_.coordinator.Fence(asked->worker(), permit.caller, answer);
      },
      [](base::Ok) {});
}

void CoordinatorService::RemoveWorker(UnaryCall& call, const v1::RemoveWorkerRequest* request,
                                      v1::RemoveWorkerResponse* response) {
  AskLoop<base::Ok>(
      {call, request->worker()}, AsItIs(request),
      [this](const Permit& permit, const v1::RemoveWorkerRequest* asked, auto answer) {
        backend_.coordinator.RemoveWorker(asked->worker(), permit.caller, answer);
      },
      [=, this](base::Ok) {
        *response->mutable_leases() =
            views::EncodeLeasesOn(backend_.coordinator.state(), request->worker());
      });
}

void CoordinatorService::Drain(UnaryCall& call, const v1::DrainRequest* request,
                               v1::DrainResponse* response) {
  AskLoop<std::vector<base::JobId>>(
      {call, request->target()}, AsItIs(request),
      [this](const Permit& permit, const v1::DrainRequest* asked, auto answer) {
        backend_.coordinator.DrainDevices(asked->target(), asked->reason(), permit.caller, answer);
      },
      [=, this](const auto& jobs) {
        for (const base::JobId job : jobs) response->add_jobs(base::ToString(job));
        *response->mutable_leases() =
            views::EncodeLeasesOn(backend_.coordinator.state(), request->target());
      });
}

void CoordinatorService::Undrain(UnaryCall& call, const v1::UndrainRequest* request,
                                 v1::UndrainResponse* response) {
  AskLoop<core::Undrained>(
      {call, request->target()}, AsItIs(request),
      [this](const Permit& permit, const v1::UndrainRequest* asked, auto answer) {
        backend_.coordinator.UndrainDevices({asked->target(), asked->faults()}, permit.caller,
                                            answer);
      },
      [response](const core::Undrained& what) {
        response->mutable_ended()->Assign(what.ended.begin(), what.ended.end());
        response->mutable_kept()->Assign(what.kept.begin(), what.kept.end());
      });
}

void CoordinatorService::ReadArtifact(UnaryCall& call, const v1::ReadArtifactRequest* request,
                                      v1::ReadArtifactResponse* response) {
  AskStoreThenLoop<job::ArtifactPiece>(
      {call}, [=] { return CheckRead(request); },
      [](const Permit& permit, store::Reader& reader,
         const v1::ReadArtifactRequest* asked) -> base::Result<coordinator::ArtifactPlace> {
        const auto job = coordinator::ReadOneJob(reader, asked->job());
        if (!job) return job.error();
        const base::Status theirs = permit.MayTouch(base::ToString(job->row.id), job->row.user);
        if (!theirs) return theirs.error();
        return coordinator::FindArtifact(reader, job->row, asked->path());
      },
      [this, request](const Permit& permit, coordinator::ArtifactPlace place, auto answer) {
        backend_.coordinator.ReadArtifact(place.workers, permit.caller.name,
                                          {request->path(), request->file(), request->offset(),
                                           std::move(place.record), std::move(place.owner)},
                                          answer);
      },
      [response](job::ArtifactPiece piece) { *response = wire::ToWire(std::move(piece)); });
}

void CoordinatorService::Workers(UnaryCall& call, const v1::WorkersRequest* request,
                                 v1::WorkersResponse* response) {
  AskLoop<std::string>(
      {call}, AsItIs(request),
      [](const Permit& permit, auto, auto answer) { answer(permit.caller.name); },
      [this, response](const std::string& user) {
        *response = views::EncodeWorkersFor(user, backend_.coordinator);
        response->set_version(version_);
        response->set_dashboard(dashboards_.local);
        response->set_dashboard_tls(dashboards_.tls);
        response->set_site(backend_.coordinator.state().site);
      });
}

void CoordinatorService::Audit(UnaryCall& call, const v1::AuditRequest* request,
                               v1::AuditResponse* response) {
  using Rows = std::vector<store::AuditRow>;
  AskLoop<Rows>(
      {call}, [=] { return CheckAudit(request); },
      [this](const Permit&, const v1::AuditRequest* asked, auto answer) {
        answer(backend_.coordinator.ReadAudit(asked->limit(), asked->before()));
      },
      [response](const Rows& rows) {
        for (const store::AuditRow& row : rows) *response->add_entries() = EncodeAudit(row);
      });
}

}  // namespace trainctl::rpc
