#include "server/rpc/coordinator_service.h"

#include <algorithm>
#include <vector>

#include "common/estimate/memory_estimate.h"
#include "common/job/job_json.h"
#include "common/wire/artifact.h"
#include "common/wire/earlier_runs.h"
#include "server/coordinator/comparison.h"
#include "server/coordinator/earlier_runs.h"
#include "server/coordinator/questions.h"
#include "server/rpc/decode_submit.h"
#include "server/rpc/encode_comparison.h"
#include "server/rpc/encode_job.h"
#include "server/rpc/encode_worker.h"
#include "server/rpc/log_stream.h"
#include "server/rpc/metrics_stream.h"
#include "server/rpc/status.h"
#include "server/rpc/unary_call.h"
#include "server/rpc/watch_stream.h"

namespace trainctl::rpc {
namespace {

using Names = google::protobuf::RepeatedPtrField<std::string>;
using StoredJobs = std::vector<store::StoredJob>;

// For the audit: where the call came from, and whom it names.
std::string Actor(const grpc::CallbackServerContext& context, const std::string& user) {
  return user.empty() ? context.peer() : user + " at " + context.peer();
}

base::Error Invalid(const std::string& text) { return {base::Code::kInvalid, text}; }

base::Result<std::vector<std::string>> DecodeNames(const Names& names, bool required) {
  if (required && names.empty())
    return Invalid("jobs: empty: expected ids or names of jobs or groups");
  if (names.size() > CoordinatorService::kMaxNames) {
    return Invalid("jobs: " + std::to_string(names.size()) + ": expected at most " +
                   std::to_string(CoordinatorService::kMaxNames));
  }
  return std::vector<std::string>(names.begin(), names.end());
}

base::Result<store::JobFilter> DecodeFilter(const v1::ListRequest& request) {
  store::JobFilter filter;
  for (const std::string& name : request.states()) {
    const auto state = job::ParseJobState(name);
    if (!state)
      return Invalid("states: '" + name +
                     "': expected QUEUED, STARTING, RUNNING, STOPPING or FINISHED");
    filter.states.push_back(*state);
  }
  if (request.limit() < 0)
    return Invalid("limit: " + std::to_string(request.limit()) + ": expected a number from 0");
  filter.unfinished_only = request.unfinished_only();
  if (request.limit() > 0) filter.limit = std::min(request.limit(), CoordinatorService::kMaxListed);
  return filter;
}

// Fills the response and finishes the call, where the answer is there.
template <class T, class Fill>
std::function<void(base::Result<T>)> AnswerWith(grpc::ServerUnaryReactor* call, Fill fill) {
  return [call, fill](base::Result<T> result) {
    if (result) fill(std::move(*result));
    call->Finish(ToGrpc(result));
  };
}

grpc::ServerUnaryReactor* FinishNow(grpc::ServerUnaryReactor* call, const base::Error& error) {
  call->Finish(ToGrpc(error));
  return call;
}

void EncodeSubmitted(const coordinator::Submitted& submitted, v1::SubmitResponse* response) {
  if (submitted.group) response->set_group(base::ToString(submitted.group));
  for (const coordinator::Submitted::Job& job : submitted.jobs) {
    v1::SubmittedJob* message = response->add_jobs();
    message->set_id(base::ToString(job.id));
    message->set_name(job.name);
  }
  for (const std::string& warning : submitted.warnings) response->add_warnings(warning);
}

template <class Response>
void EncodeWorkers(const coordinator::Coordinator& coordinator, Response* response) {
  const auto& sessions = coordinator.workers().all();
  for (const auto& [name, worker] : coordinator.state().workers) {
    const auto session = sessions.find(name);
    *response->add_workers() =
        EncodeWorker(coordinator.state(), worker,
                     session == sessions.end() ? nullptr : &session->second, coordinator.Now());
  }
}

}  // namespace

coordinator::JobSnapshot CoordinatorService::Snapshot(store::StoredJob job) const {
  const coordinator::Coordinator& coordinator = backend_.coordinator;
  return coordinator::Snapshot(coordinator.state(), coordinator.Now(), std::move(job));
}

auto CoordinatorService::Submit(Context* context, const v1::SubmitRequest* request,
                                v1::SubmitResponse* response) -> Unary* {
  auto* call = new UnaryCall(backend_.open_calls);
  if (!call->Admit()) return call;
  auto submission = DecodeSubmit(*request);
  if (!submission) return FinishNow(call, submission.error());
  backend_.loop.Post([this, call, response, actor = Actor(*context, request->user()),
                      submission = std::move(*submission)]() mutable {
    backend_.coordinator.Submit(std::move(submission), std::move(actor),
                                AnswerWith<coordinator::Submitted>(
                                    call, [response](const coordinator::Submitted& submitted) {
                                      EncodeSubmitted(submitted, response);
                                    }));
  });
  return call;
}

auto CoordinatorService::List(Context*, const v1::ListRequest* request, v1::ListResponse* response)
    -> Unary* {
  auto* call = new UnaryCall(backend_.open_calls);
  if (!call->Admit()) return call;
  const auto names = DecodeNames(request->jobs(), false);
  if (!names) return FinishNow(call, names.error());
  const auto filter = DecodeFilter(*request);
  if (!filter) return FinishNow(call, filter.error());
  const auto read = [names = *names,
                     filter = *filter](store::Reader& reader) mutable -> base::Result<StoredJobs> {
    if (names.empty()) return reader.Jobs(filter);
    auto jobs = coordinator::FindJobs(reader, names);
    if (!jobs) return jobs.error();
    filter.jobs = std::move(*jobs);
    return reader.Jobs(filter);
  };
  backend_.reads.Ask<StoredJobs>(read,
                                 AnswerWith<StoredJobs>(call, [this, response](StoredJobs jobs) {
                                   for (store::StoredJob& job : jobs)
                                     *response->add_jobs() = EncodeJob(Snapshot(std::move(job)));
                                   EncodeWorkers(backend_.coordinator, response);
                                 }));
  return call;
}

auto CoordinatorService::Get(Context*, const v1::GetRequest* request, v1::GetResponse* response)
    -> Unary* {
  using coordinator::Details;
  auto* call = new UnaryCall(backend_.open_calls);
  if (!call->Admit()) return call;
  backend_.reads.Ask<Details>(
      [name = request->job()](store::Reader& reader) {
        return coordinator::ReadDetails(reader, name);
      },
      AnswerWith<Details>(call, [this, response](Details details) {
        if (details.group) response->set_group(base::ToString(details.group));
        response->set_group_name(details.group_name);
        for (coordinator::JobDetail& detail : details.jobs) {
          coordinator::BringUpToDate(backend_.coordinator.state(), detail.job.row.id,
                                     &detail.attempts);
          const auto snapshot = Snapshot(std::move(detail.job));
          *response->add_jobs() = EncodeDetail(snapshot, detail);
        }
      }));
  return call;
}

auto CoordinatorService::Cancel(Context* context, const v1::CancelRequest* request,
                                v1::CancelResponse* response) -> Unary* {
  auto* call = new UnaryCall(backend_.open_calls);
  if (!call->Admit()) return call;
  const auto names = DecodeNames(request->jobs(), true);
  if (!names) return FinishNow(call, names.error());
  const auto read = [names = *names](store::Reader& reader) -> base::Result<StoredJobs> {
    const auto jobs = coordinator::FindJobs(reader, names);
    if (!jobs) return jobs.error();
    return coordinator::ReadJobs(reader, *jobs);
  };
  backend_.reads.Ask<StoredJobs>(
      read, [this, call, response, actor = context->peer()](base::Result<StoredJobs> jobs) {
        if (!jobs) return call->Finish(ToGrpc(jobs));
        std::vector<base::JobId> ids;
        for (const store::StoredJob& job : *jobs) {
          ids.push_back(job.row.id);
          response->add_jobs()->set_id(base::ToString(job.row.id));
          response->mutable_jobs()->rbegin()->set_name(job.row.spec.name);
        }
        backend_.coordinator.Cancel(ids, actor,
                                    [call](base::Status status) { call->Finish(ToGrpc(status)); });
      });
  return call;
}

auto CoordinatorService::Compare(Context*, const v1::CompareRequest* request,
                                 v1::CompareResponse* response) -> Unary* {
  using coordinator::Comparison;
  auto* call = new UnaryCall(backend_.open_calls);
  if (!call->Admit()) return call;
  const auto names = DecodeNames(request->jobs(), false);
  if (!names) return FinishNow(call, names.error());
  backend_.reads.Ask<Comparison>(
      [names = *names, base = request->base()](store::Reader& reader) {
        return coordinator::CompareJobs(reader, names, base);
      },
      AnswerWith<Comparison>(call, [response](const Comparison& comparison) {
        *response = EncodeComparison(comparison);
      }));
  return call;
}

auto CoordinatorService::Inspect(Context*, const v1::InspectRequest* request,
                                 v1::InspectResponse* response) -> Unary* {
  auto* call = new UnaryCall(backend_.open_calls);
  if (!call->Admit()) return call;
  if (request->job_json().size() > kMaxJobBytes) {
    return FinishNow(call,
                     Invalid("job_json: longer than " + std::to_string(kMaxJobBytes) + " bytes"));
  }
  const auto spec = job::FromJson(request->job_json());
  if (!spec) return FinishNow(call, spec.error());
  if (request->user().size() > kMaxUserBytes)
    return FinishNow(call,
                     Invalid("user: longer than " + std::to_string(kMaxUserBytes) + " bytes"));
  backend_.loop.Post([this, call, response, request] {
    backend_.coordinator.Inspect(
        request->job_json(), request->user(),
        AnswerWith<job::Inspection>(call, [response](const job::Inspection& inspection) {
          response->set_inspection_json(job::ToJson(inspection));
        }));
  });
  return call;
}

auto CoordinatorService::EarlierRuns(Context*, const v1::EarlierRunsRequest* request,
                                     v1::EarlierRunsResponse* response) -> Unary* {
  using Found = std::vector<std::vector<job::EarlierRuns>>;
  auto* call = new UnaryCall(backend_.open_calls);
  if (!call->Admit()) return call;
  auto shapes = DecodeShapes(*request);
  if (!shapes) return FinishNow(call, shapes.error());
  backend_.reads.Ask<Found>(
      [shapes = std::move(*shapes)](store::Reader& reader) {
        return coordinator::FindEarlierRuns(reader, shapes);
      },
      AnswerWith<Found>(call, [response](const Found& found) {
        for (const std::vector<job::EarlierRuns>& devices : found) {
          v1::ShapeRuns* shape = response->add_jobs();
          for (const job::EarlierRuns& runs : devices) *shape->add_devices() = wire::ToWire(runs);
        }
      }));
  return call;
}

auto CoordinatorService::Fence(Context* context, const v1::FenceRequest* request,
                               v1::FenceResponse*) -> Unary* {
  auto* call = new UnaryCall(backend_.open_calls);
  if (!call->Admit()) return call;
  backend_.loop.Post([this, call, worker = request->worker(), actor = context->peer()] {
    backend_.coordinator.Fence(worker, actor,
                               [call](base::Status status) { call->Finish(ToGrpc(status)); });
  });
  return call;
}

auto CoordinatorService::RemoveWorker(Context* context, const v1::RemoveWorkerRequest* request,
                                      v1::RemoveWorkerResponse*) -> Unary* {
  auto* call = new UnaryCall(backend_.open_calls);
  if (!call->Admit()) return call;
  backend_.loop.Post([this, call, worker = request->worker(), actor = context->peer()] {
    backend_.coordinator.RemoveWorker(
        worker, actor, [call](base::Status status) { call->Finish(ToGrpc(status)); });
  });
  return call;
}

auto CoordinatorService::ReadArtifact(Context*, const v1::ReadArtifactRequest* request,
                                      v1::ReadArtifactResponse* response) -> Unary* {
  auto* call = new UnaryCall(backend_.open_calls);
  if (!call->Admit()) return call;
  if (request->offset() < 0)
    return FinishNow(call, Invalid("offset: " + std::to_string(request->offset()) +
                                   ": expected a number from 0"));
  job::ArtifactQuestion question{request->path(), request->file(), request->offset(), ""};
  backend_.reads.Ask<coordinator::ArtifactPlace>(
      [job = request->job(), path = request->path()](store::Reader& reader) {
        return coordinator::FindArtifact(reader, job, path);
      },
      [this, call, response,
       question = std::move(question)](base::Result<coordinator::ArtifactPlace> place) mutable {
        if (!place) return call->Finish(ToGrpc(place));
        question.record = std::move(place->record);
        backend_.coordinator.ReadArtifact(
            place->workers, std::move(question),
            AnswerWith<job::ArtifactPiece>(call, [response](job::ArtifactPiece piece) {
              *response = wire::ToWire(std::move(piece));
            }));
      });
  return call;
}

auto CoordinatorService::Workers(Context*, const v1::WorkersRequest*, v1::WorkersResponse* response)
    -> Unary* {
  auto* call = new UnaryCall(backend_.open_calls);
  if (!call->Admit()) return call;
  backend_.loop.Post([this, call, response] {
    EncodeWorkers(backend_.coordinator, response);
    response->set_version(version_);
    response->set_site(backend_.coordinator.state().site);
    call->Finish(grpc::Status::OK);
  });
  return call;
}

grpc::ServerWriteReactor<v1::JobView>* CoordinatorService::Watch(Context*,
                                                                 const v1::WatchRequest* request) {
  auto* stream = new WatchStream(
      backend_, *request);  // streams own themselves: deleted after gRPC's last callback
  stream->Begin();
  return stream;
}

grpc::ServerWriteReactor<v1::LogChunk>* CoordinatorService::Logs(Context*,
                                                                 const v1::LogsRequest* request) {
  auto* stream = new LogStream(backend_, *request);
  stream->Begin();
  return stream;
}

grpc::ServerWriteReactor<v1::MetricsResponse>* CoordinatorService::Metrics(
    Context*, const v1::MetricsRequest* request) {
  auto* stream = new MetricsStream(backend_, *request);
  stream->Begin();
  return stream;
}

}  // namespace trainctl::rpc
