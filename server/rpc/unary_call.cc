#include "server/rpc/unary_call.h"

#include "common/wire/grpc_code.h"

namespace trainctl::rpc {

UnaryCall::UnaryCall(const Entry& entry)
    : backend_(entry.backend),
      is_admitted_(++entry.backend.open_calls <= kMostOpen),
      began_(entry.backend.meters.Now()),
      entry_{{}, entry.rpc, entry.subject} {
  entry.context.AddTrailingMetadata(wire::kAnswered, "");
}

std::optional<Permit> UnaryCall::Admit(const Entry& entry) {
  if (!is_admitted_) {
    End(base::Error{base::Code::kExhausted,
                    std::to_string(kMostOpen) + " calls wait already: try again in a moment"});
    return std::nullopt;
  }
  auto permit = backend_.gate.Admit(entry.context, entry.rpc, &entry_.caller);
  if (permit) return std::move(*permit);
  End(permit.error());
  return std::nullopt;
}

void UnaryCall::End(const base::Status& status) {
  backend_.meters.CallEnded(entry_.rpc, status, began_);
  if (!status) TellRefusal(backend_, entry_, status.error());
  Finish(ToGrpc(status));
}

}  // namespace trainctl::rpc
