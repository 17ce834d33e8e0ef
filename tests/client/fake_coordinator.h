// A coordinator in memory. It keeps what was submitted, and answers a repeated request id with the
// first answer. It finds jobs by id, name and group as the real one does. What it says while jobs
// run is a script, since nothing runs.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/api.h"

namespace trainctl::client {

struct FakeCoordinator {
  // ---- what it knows ----
  std::vector<v1::JobView> jobs;
  std::map<std::string, v1::JobDetail> details;  // by id
  std::vector<v1::WorkerView> workers;
  std::optional<v1::UserPolicy> policy;               // of whoever asks
  v1::LeasesResponse leases;                          // with its clock: `now`
  std::map<std::string, std::string> lease_requests;  // names by request id
  std::string site;
  std::string dashboard, dashboard_tls;
  base::Result<v1::AuditResponse> audit = v1::AuditResponse();
  v1::CompareResponse comparison;
  std::vector<v1::MetricPoint> points;                             // of every job
  std::map<std::string, std::vector<v1::MetricPoint>> job_points;  // of a job, by its id
  std::vector<v1::LogChunk> log;
  base::Result<v1::EarlierRunsResponse> earlier_runs = v1::EarlierRunsResponse();
  // In its place, where the answer depends on the question.
  std::function<v1::EarlierRunsResponse(const v1::EarlierRunsRequest&)> answer_earlier_runs;
  std::map<int64_t, std::vector<v1::LogChunk>>
      attempt_logs;  // of attempts that wrote something else than `log`
  std::map<std::string, std::map<std::string, std::string>>
      artifacts;  // contents by file, by the artifact's path; its worker is connected
  base::Error artifact_error = {base::Code::kUnavailable,
                                "no worker of host alpha is connected"};  // of all others
  std::map<std::string, std::vector<v1::HostOutputs>> outputs;            // by job; of others none
  std::map<std::string, base::Error> kept_outputs;  // by job: why a host refuses
  size_t artifact_piece_bytes = 4;                  // of an answer at most
  base::Result<v1::InspectResponse> inspection =
      base::Error{base::Code::kUnavailable, "no worker answers"};

  // ---- faults ----
  bool unreachable = false;
  std::optional<base::Error> workers_error;  // what Workers answers instead
  bool logs_break = false;                   // the connection, at the end of what is there
  int lost_answers = 0;  // of the next submissions and extensions: done, but not told

  // ---- the script of Watch: each call takes the front; with none left all jobs are told as they
  // are ----
  struct Watching {
    std::vector<v1::JobView> told;
    bool breaks = false;  // the connection, after that
  };
  std::deque<Watching> watchings;

  // ---- the script of Logs: each call takes the front; with none left `log` or attempt_logs are
  // told ----
  struct Telling {
    std::vector<v1::LogChunk> told;
    bool breaks = false;  // the connection, after that
  };
  std::deque<Telling> tellings;

  // ---- what it was asked ----
  std::vector<v1::SubmitRequest> submissions;
  std::map<std::string, std::vector<v1::SubmittedJob>> accepted;  // by request id
  std::vector<v1::WatchRequest> watch_requests;
  std::vector<std::string> cancelled;
  std::vector<v1::RemoveRequest> removals;
  std::vector<v1::RemoveOutputsRequest> output_removals;
  std::vector<std::string> fenced;
  std::vector<v1::LogsRequest> logs_requests;
  v1::CompareRequest compare_request;
  v1::MetricsRequest metrics_request;
  v1::AuditRequest audit_request;
  std::vector<v1::CreateTokenRequest> tokens;  // that were made; each has its place as id
  std::vector<int64_t> revoked_tokens;
  std::vector<std::string> revoked_hosts;
  std::vector<std::string> backups;
  int inspections_asked = 0;

  std::vector<const v1::JobView*> Find(const std::string& name) const;
  // Those with devices of the worker or host.
  google::protobuf::RepeatedPtrField<v1::Lease> LeasesOn(const std::string& target) const;
};

// Many at once may look at one coordinator.
class FakeApi : public Api {
 public:
  explicit FakeApi(FakeCoordinator* coordinator) : fake_(coordinator) {}

  base::Result<v1::SubmitResponse> Submit(const v1::SubmitRequest& request) override;
  base::Result<v1::ListResponse> List(const v1::ListRequest& request) override;
  base::Result<v1::GetResponse> Get(const v1::GetRequest& request) override;
  base::Result<v1::CancelResponse> Cancel(const v1::CancelRequest& request) override;
  base::Result<v1::RemoveResponse> Remove(const v1::RemoveRequest& request) override;
  base::Result<v1::RemoveOutputsResponse> RemoveOutputs(
      const v1::RemoveOutputsRequest& request) override;
  base::Result<v1::CompareResponse> Compare(const v1::CompareRequest& request) override;
  base::Result<v1::InspectResponse> Inspect(const v1::InspectRequest& request) override;
  base::Result<v1::EarlierRunsResponse> EarlierRuns(const v1::EarlierRunsRequest& request) override;
  base::Result<v1::FenceResponse> Fence(const v1::FenceRequest& request) override;
  base::Result<v1::DrainResponse> Drain(const v1::DrainRequest& request) override;
  base::Result<v1::UndrainResponse> Undrain(const v1::UndrainRequest& request) override;
  base::Result<v1::RemoveWorkerResponse> RemoveWorker(
      const v1::RemoveWorkerRequest& request) override;
  base::Result<v1::ReadArtifactResponse> ReadArtifact(
      const v1::ReadArtifactRequest& request) override;
  base::Result<v1::WorkersResponse> Workers() override;
  base::Result<v1::SignInResponse> SignIn() override;
  base::Result<v1::AuditResponse> Audit(const v1::AuditRequest& request) override;
  base::Result<v1::BackupResponse> Backup(const v1::BackupRequest& request) override;
  base::Result<v1::CreateLeaseResponse> CreateLease(const v1::CreateLeaseRequest& request) override;
  base::Result<v1::FindLeaseResponse> FindLease(const v1::FindLeaseRequest& request) override;
  base::Result<v1::LeasesResponse> Leases() override;
  base::Result<v1::ExtendLeaseResponse> ExtendLease(const v1::ExtendLeaseRequest& request) override;
  base::Result<v1::DeleteLeaseResponse> DeleteLease(const v1::DeleteLeaseRequest& request) override;
  base::Result<v1::CreateTokenResponse> CreateToken(const v1::CreateTokenRequest& request) override;
  base::Result<v1::ListTokensResponse> ListTokens() override;
  base::Result<v1::RevokeTokenResponse> RevokeToken(const v1::RevokeTokenRequest& request) override;
  base::Result<v1::RevokeHostResponse> RevokeHost(const v1::RevokeHostRequest& request) override;
  base::Status Logs(const v1::LogsRequest& request,
                    const std::function<bool(const v1::LogChunk&)>& on_message) override;
  base::Status Metrics(const v1::MetricsRequest& request,
                       const std::function<bool(const v1::MetricsResponse&)>& on_message) override;
  base::Status Watch(const v1::WatchRequest& request, double period_seconds,
                     const std::function<bool(const v1::JobView&)>& on_message) override;

 private:
  FakeCoordinator* fake_;
};

// What every call answers where it is unreachable.
inline base::Error Unreachable() {
  return {base::Code::kUnavailable, "no answer from the coordinator at fake:1: connection refused"};
}

// A RUNNING job, to be changed by the test.
v1::JobView RunningJob(const std::string& id, const std::string& name);
v1::JobView FinishedJob(const std::string& id, const std::string& name, const std::string& outcome);
v1::WorkerView CpuWorker(const std::string& name, const std::string& state);
// One of 140 GiB, 44 of them used.
v1::WorkerView GpuWorker(const std::string& name, const std::string& state, double utilization);

// What a rank wrote, as Logs sends it.
v1::LogChunk Chunk(int64_t rank, const std::string& data);

}  // namespace trainctl::client
