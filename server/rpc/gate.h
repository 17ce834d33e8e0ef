// Who calls, and whether they may: every RPC of every service passes here before its request is
// read.
//
// A connection's user is proven once (common/peer/socket_owner.h) and kept with the connection.
// Later calls cost nothing then, and a port that is used again means nothing. Thread-safe.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <mutex>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "server/auth/listen_address.h"
#include "server/auth/permissions.h"
#include "server/auth/unix_policy.h"

namespace trainctl::rpc {

// A caller who may make a call, at least on what is their own.
struct Permit {
  auth::Caller caller;
  std::string_view rpc;

  // As auth::CheckOwner.
  base::Status MayTouch(std::string_view job, std::string_view owner) const {
    return auth::CheckOwner(caller, rpc, job, owner);
  }
};

class Gate {
 public:
  // own: where the server listens, with its port once it serves; outlives this.
  Gate(const auth::ListenAddress& own, auth::UnixPolicy policy);

  // kDenied: the caller's user can't be proven, or may not make this call. kIo. `who` is then the
  // caller as far as known, if the caller of this asks.
  base::Result<Permit> Admit(const grpc::CallbackServerContext& context, std::string_view rpc,
                             auth::Caller* who = nullptr);

 private:
  base::Result<auth::UnixUser> Prove(const grpc::CallbackServerContext& context);

  const auth::ListenAddress& own_;
  const auth::UnixPolicy policy_;
  std::mutex mutex_;  // of what is kept with connections, which gRPC does not synchronize
};

}  // namespace trainctl::rpc
