// Coordinator of proto/trainctl.proto: each call is decoded, posted to the loop or asked of the
// read thread, and encoded. No policy.
#pragma once

#include <string>
#include <utility>

#include "proto/trainctl.grpc.pb.h"
#include "server/rpc/backend.h"

namespace trainctl::rpc {

class CoordinatorService : public v1::Coordinator::CallbackService {
 public:
  // version: of the coordinator; dashboard: its address. Workers tells both.
  CoordinatorService(Backend& backend, std::string version, std::string dashboard)
      : backend_(backend), version_(std::move(version)), dashboard_(std::move(dashboard)) {}

  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;
  Unary* Submit(Context* context, const v1::SubmitRequest* request,
                v1::SubmitResponse* response) override;
  Unary* List(Context* context, const v1::ListRequest* request,
              v1::ListResponse* response) override;
  Unary* Get(Context* context, const v1::GetRequest* request, v1::GetResponse* response) override;
  Unary* Cancel(Context* context, const v1::CancelRequest* request,
                v1::CancelResponse* response) override;
  Unary* Remove(Context* context, const v1::RemoveRequest* request,
                v1::RemoveResponse* response) override;
  Unary* Compare(Context* context, const v1::CompareRequest* request,
                 v1::CompareResponse* response) override;
  Unary* Inspect(Context* context, const v1::InspectRequest* request,
                 v1::InspectResponse* response) override;
  Unary* EarlierRuns(Context* context, const v1::EarlierRunsRequest* request,
                     v1::EarlierRunsResponse* response) override;
  Unary* Fence(Context* context, const v1::FenceRequest* request,
               v1::FenceResponse* response) override;
  Unary* Drain(Context* context, const v1::DrainRequest* request,
               v1::DrainResponse* response) override;
  Unary* Undrain(Context* context, const v1::UndrainRequest* request,
                 v1::UndrainResponse* response) override;
  Unary* RemoveWorker(Context* context, const v1::RemoveWorkerRequest* request,
                      v1::RemoveWorkerResponse* response) override;
  Unary* ReadArtifact(Context* context, const v1::ReadArtifactRequest* request,
                      v1::ReadArtifactResponse* response) override;
  Unary* Workers(Context* context, const v1::WorkersRequest* request,
                 v1::WorkersResponse* response) override;
  // lease_calls.cc
  Unary* CreateLease(Context* context, const v1::CreateLeaseRequest* request,
                     v1::CreateLeaseResponse* response) override;
  Unary* FindLease(Context* context, const v1::FindLeaseRequest* request,
                   v1::FindLeaseResponse* response) override;
  Unary* Leases(Context* context, const v1::LeasesRequest* request,
                v1::LeasesResponse* response) override;
  Unary* ExtendLease(Context* context, const v1::ExtendLeaseRequest* request,
                     v1::ExtendLeaseResponse* response) override;
  Unary* DeleteLease(Context* context, const v1::DeleteLeaseRequest* request,
                     v1::DeleteLeaseResponse* response) override;
  Unary* Audit(Context* context, const v1::AuditRequest* request,
               v1::AuditResponse* response) override;
  // backup_call.cc
  Unary* Backup(Context* context, const v1::BackupRequest* request,
                v1::BackupResponse* response) override;
  // token_calls.cc
  Unary* CreateToken(Context* context, const v1::CreateTokenRequest* request,
                     v1::CreateTokenResponse* response) override;
  Unary* ListTokens(Context* context, const v1::ListTokensRequest* request,
                    v1::ListTokensResponse* response) override;
  Unary* RevokeToken(Context* context, const v1::RevokeTokenRequest* request,
                     v1::RevokeTokenResponse* response) override;
  grpc::ServerWriteReactor<v1::JobView>* Watch(Context* context,
                                               const v1::WatchRequest* request) override;
  grpc::ServerWriteReactor<v1::LogChunk>* Logs(Context* context,
                                               const v1::LogsRequest* request) override;
  grpc::ServerWriteReactor<v1::MetricsResponse>* Metrics(
      Context* context, const v1::MetricsRequest* request) override;

 private:
  Backend& backend_;
  const std::string version_;
  const std::string dashboard_;
};

}  // namespace trainctl::rpc
