#include "server/rpc/unary_call.h"

#include "common/wire/grpc_code.h"

namespace trainctl::rpc {

UnaryCall::UnaryCall(Backend& backend, std::string_view rpc)
    : backend_(backend), began_(backend.meters.Now()), entry_{{}, rpc, ""} {}

bool UnaryCall::Admit(grpc::CallbackServerContext& context) {
  context.AddTrailingMetadata(wire::kAnswered, "");
  permit_ = backend_.gate.Admit(context, entry_.rpc, &entry_.caller);
  if (permit_ || TellsSubject()) return true;
  End(permit_.error());
  return false;
}

// The audit log says on what somebody of the site tried a change that they may not make.
bool UnaryCall::TellsSubject() const {
  return permit_.error().code == base::Code::kDenied && entry_.caller.role != auth::Role::kNone &&
         !auth::PermissionOf(entry_.rpc).change.empty();
}

const Permit* UnaryCall::Admitted(std::string subject) {
  entry_.subject = std::move(subject);
  if (permit_) return &*permit_;
  End(permit_.error());
  return nullptr;
}

void UnaryCall::End(const base::Status& status) {
  backend_.meters.CallEnded(entry_.rpc, status, began_);
  if (!status) TellRefusal(backend_, entry_, status.error());
  Respond(status);
}

}  // namespace trainctl::rpc
