// What trainctl asks of a coordinator: the API of proto/trainctl.proto as calls that return values.
// GrpcApi (grpc_api.h) makes them over the network; tests use a fake. Errors are those that the
// proto file lists, as base::Code; kUnavailable: the coordinator does not answer (of Inspect and
// ReadArtifact also: no worker does), and the message says what to do.
#pragma once

#include <functional>

#include "common/base/result.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

class Api {
 public:
  virtual ~Api() = default;

  virtual base::Result<v1::SubmitResponse> Submit(const v1::SubmitRequest& request) = 0;
  virtual base::Result<v1::ListResponse> List(const v1::ListRequest& request) = 0;
  virtual base::Result<v1::GetResponse> Get(const v1::GetRequest& request) = 0;
  virtual base::Result<v1::CancelResponse> Cancel(const v1::CancelRequest& request) = 0;
  virtual base::Result<v1::RemoveResponse> Remove(const v1::RemoveRequest& request) = 0;
  virtual base::Result<v1::RemoveOutputsResponse> RemoveOutputs(
      const v1::RemoveOutputsRequest& request) = 0;
  virtual base::Result<v1::CompareResponse> Compare(const v1::CompareRequest& request) = 0;
  virtual base::Result<v1::InspectResponse> Inspect(const v1::InspectRequest& request) = 0;
  virtual base::Result<v1::EarlierRunsResponse> EarlierRuns(
      const v1::EarlierRunsRequest& request) = 0;
  virtual base::Result<v1::FenceResponse> Fence(const v1::FenceRequest& request) = 0;
  virtual base::Result<v1::RemoveWorkerResponse> RemoveWorker(
      const v1::RemoveWorkerRequest& request) = 0;
  virtual base::Result<v1::DrainResponse> Drain(const v1::DrainRequest& request) = 0;
  virtual base::Result<v1::UndrainResponse> Undrain(const v1::UndrainRequest& request) = 0;
  virtual base::Result<v1::ReadArtifactResponse> ReadArtifact(
      const v1::ReadArtifactRequest& request) = 0;
  virtual base::Result<v1::WorkersResponse> Workers() = 0;
  virtual base::Result<v1::SignInResponse> SignIn() = 0;
  virtual base::Result<v1::AuditResponse> Audit(const v1::AuditRequest& request) = 0;
  virtual base::Result<v1::BackupResponse> Backup(const v1::BackupRequest& request) = 0;
  virtual base::Result<v1::CreateLeaseResponse> CreateLease(
      const v1::CreateLeaseRequest& request) = 0;
  virtual base::Result<v1::FindLeaseResponse> FindLease(const v1::FindLeaseRequest& request) = 0;
  virtual base::Result<v1::LeasesResponse> Leases() = 0;
  virtual base::Result<v1::ExtendLeaseResponse> ExtendLease(
      const v1::ExtendLeaseRequest& request) = 0;
  virtual base::Result<v1::DeleteLeaseResponse> DeleteLease(
      const v1::DeleteLeaseRequest& request) = 0;
  virtual base::Result<v1::CreateTokenResponse> CreateToken(
      const v1::CreateTokenRequest& request) = 0;
  virtual base::Result<v1::ListTokensResponse> ListTokens() = 0;
  virtual base::Result<v1::RevokeTokenResponse> RevokeToken(
      const v1::RevokeTokenRequest& request) = 0;
  virtual base::Result<v1::RevokeHostResponse> RevokeHost(const v1::RevokeHostRequest& request) = 0;

  // Streams: on_message is called for each message on the caller's thread; the call returns Ok when
  // the stream ended or on_message returned false.
  virtual base::Status Logs(const v1::LogsRequest& request,
                            const std::function<bool(const v1::LogChunk&)>& on_message) = 0;
  virtual base::Status Metrics(
      const v1::MetricsRequest& request,
      const std::function<bool(const v1::MetricsResponse&)>& on_message) = 0;
  // Ends with Ok after period_seconds too, so that a connection that died silently is noticed and
  // deadlines are kept.
  virtual base::Status Watch(const v1::WatchRequest& request, double period_seconds,
                             const std::function<bool(const v1::JobView&)>& on_message) = 0;
};

}  // namespace trainctl::client
