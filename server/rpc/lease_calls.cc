// The calls about leases.
#include "server/rpc/coordinator_service.h"
#include "server/rpc/decode_lease.h"
#include "server/rpc/unary_call.h"
#include "server/views/encode_lease.h"

namespace trainctl::rpc {

void CoordinatorService::CreateLease(UnaryCall& call, const v1::CreateLeaseRequest* request,
                                     v1::CreateLeaseResponse* response) {
  AskLoop<core::LeaseRow>(
      {call, request->name()}, [=] { return DecodeLease(*request); },
      [this](const Permit& permit, const auto& asked, auto answer) {
        backend_.coordinator.CreateLease(asked, permit.caller, answer);
      },
      [this, response](const core::LeaseRow& row) {
        *response->mutable_lease() = views::EncodeLease(backend_.coordinator.state(), row);
      });
}

void CoordinatorService::FindLease(UnaryCall& call, const v1::FindLeaseRequest* request,
                                   v1::FindLeaseResponse* response) {
  AskLoop<core::LeaseBlock>(
      {call}, [=] { return DecodeWish(request->wish()); },
      [this](const Permit& permit, core::LeaseWish wish, auto answer) {
        wish.user = permit.caller.name;
        answer(backend_.coordinator.FindLeaseBlock(wish));
      },
      [response](const core::LeaseBlock& block) {
        response->set_start(block.start);
        for (const std::string& worker : block.workers) response->add_workers(worker);
      });
}

void CoordinatorService::Leases(UnaryCall& call, const v1::LeasesRequest*,
                                v1::LeasesResponse* response) {
  AskLoop<base::Ok>(
      {call}, [] { return base::Result<base::Ok>(base::Ok{}); },
      [](const Permit&, base::Ok, auto answer) { answer(base::Ok{}); },
      [this, response](base::Ok) { *response = views::EncodeLeases(backend_.coordinator); });
}

void CoordinatorService::ExtendLease(UnaryCall& call, const v1::ExtendLeaseRequest* request,
                                     v1::ExtendLeaseResponse* response) {
  AskLoop<core::LeaseRow>(
      {call, request->name()}, [=] { return DecodeExtension(*request); },
      [this, request](const Permit& permit, const core::LeaseExtension& asked, auto answer) {
        backend_.coordinator.ExtendLease(request->name(), asked, permit.caller, answer);
      },
      [this, response](const core::LeaseRow& row) {
        *response->mutable_lease() = views::EncodeLease(backend_.coordinator.state(), row);
      });
}

void CoordinatorService::DeleteLease(UnaryCall& call, const v1::DeleteLeaseRequest* request,
                                     v1::DeleteLeaseResponse* response) {
  AskLoop<core::LeaseRow>(
      {call, request->name()}, [=] { return base::Result<const v1::DeleteLeaseRequest*>(request); },
      [this](const Permit& permit, const v1::DeleteLeaseRequest* asked, auto answer) {
        backend_.coordinator.DeleteLease(asked->name(), permit.caller, answer);
      },
      [this, response](const core::LeaseRow& row) {
        *response->mutable_lease() = views::EncodeLease(backend_.coordinator.state(), row);
      });
}

}  // namespace trainctl::rpc
