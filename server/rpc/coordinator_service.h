// Coordinator of proto/trainctl.proto: each call is decoded, posted to the loop or asked of the
// read thread, and encoded. No policy.
#pragma once

#include <string>

#include "proto/trainctl.grpc.pb.h"
#include "server/rpc/dashboards.h"
#include "server/rpc/methods.h"

namespace trainctl::rpc {

class CoordinatorService {
 public:
  // version: of the coordinator. Workers tells it, and the dashboards.
  CoordinatorService(Backend& backend, std::string version, Dashboards dashboards);

  grpc::Service* methods() { return &methods_; }

 private:
  template <class Request, class Response>
  void Add(const char* rpc,
           void (CoordinatorService::*work)(UnaryCall&, const Request*, Response*));

  void Submit(UnaryCall& call, const v1::SubmitRequest* request, v1::SubmitResponse* response);
  void List(UnaryCall& call, const v1::ListRequest* request, v1::ListResponse* response);
  void Get(UnaryCall& call, const v1::GetRequest* request, v1::GetResponse* response);
  void Cancel(UnaryCall& call, const v1::CancelRequest* request, v1::CancelResponse* response);
  void Remove(UnaryCall& call, const v1::RemoveRequest* request, v1::RemoveResponse* response);
  void RemoveOutputs(UnaryCall& call, const v1::RemoveOutputsRequest* request,
                     v1::RemoveOutputsResponse* response);
  void Compare(UnaryCall& call, const v1::CompareRequest* request, v1::CompareResponse* response);
  void Inspect(UnaryCall& call, const v1::InspectRequest* request, v1::InspectResponse* response);
  void EarlierRuns(UnaryCall& call, const v1::EarlierRunsRequest* request,
                   v1::EarlierRunsResponse* response);
  void Fence(UnaryCall& call, const v1::FenceRequest* request, v1::FenceResponse* response);
  void Drain(UnaryCall& call, const v1::DrainRequest* request, v1::DrainResponse* response);
  void Undrain(UnaryCall& call, const v1::UndrainRequest* request, v1::UndrainResponse* response);
  void RemoveWorker(UnaryCall& call, const v1::RemoveWorkerRequest* request,
                    v1::RemoveWorkerResponse* response);
  void ReadArtifact(UnaryCall& call, const v1::ReadArtifactRequest* request,
                    v1::ReadArtifactResponse* response);
  void Workers(UnaryCall& call, const v1::WorkersRequest* request, v1::WorkersResponse* response);
  // lease_calls.cc
  void CreateLease(UnaryCall& call, const v1::CreateLeaseRequest* request,
                   v1::CreateLeaseResponse* response);
  void FindLease(UnaryCall& call, const v1::FindLeaseRequest* request,
                 v1::FindLeaseResponse* response);
  void Leases(UnaryCall& call, const v1::LeasesRequest* request, v1::LeasesResponse* response);
  void ExtendLease(UnaryCall& call, const v1::ExtendLeaseRequest* request,
                   v1::ExtendLeaseResponse* response);
  void DeleteLease(UnaryCall& call, const v1::DeleteLeaseRequest* request,
                   v1::DeleteLeaseResponse* response);
  void Audit(UnaryCall& call, const v1::AuditRequest* request, v1::AuditResponse* response);
  // backup_call.cc
  void Backup(UnaryCall& call, const v1::BackupRequest* request, v1::BackupResponse* response);
  // token_calls.cc
  void SignIn(UnaryCall& call, const v1::SignInRequest* request, v1::SignInResponse* response);
  void CreateToken(UnaryCall& call, const v1::CreateTokenRequest* request,
                   v1::CreateTokenResponse* response);
  void ListTokens(UnaryCall& call, const v1::ListTokensRequest* request,
                  v1::ListTokensResponse* response);
  void RevokeToken(UnaryCall& call, const v1::RevokeTokenRequest* request,
                   v1::RevokeTokenResponse* response);
  void RevokeHost(UnaryCall& call, const v1::RevokeHostRequest* request,
                  v1::RevokeHostResponse* response);
  Backend& backend_;
  const std::string version_;
  const Dashboards dashboards_;
  Methods<v1::Coordinator::Service> methods_;
};

}  // namespace trainctl::rpc
