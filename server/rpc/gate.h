// Who calls, and whether they may: every RPC of trainctl's services passes here before its request
// is read. The request is read nevertheless where somebody with a role tries a change that it does
// not allow: the audit log tells on what. Whose a connection over loopback is was proven when it
// was taken (server.cc). Who comes over TLS has a token with each call, or as a worker a
// certificate. Thread-safe.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <string_view>
#include <utility>

#include "common/base/result.h"
#include "server/auth/call_rate.h"
#include "server/auth/permissions.h"
#include "server/auth/site_keys.h"
#include "server/auth/unix_policy.h"
#include "server/rpc/connections.h"

namespace trainctl::rpc {

// A caller who may make a call, at least on what is their own.
struct Permit {
  auth::Caller caller;
  std::string_view rpc;
  const auth::SiteKeys* keys = nullptr;  // of a caller over TLS: by which it was let in

  // As auth::CheckOwner.
  base::Status MayTouch(std::string_view job, std::string_view owner) const {
    return auth::CheckOwner(caller, rpc, job, owner);
  }
  // Of a call that goes on: kDenied where the caller's token was revoked since, or has expired, or
  // the host of the caller's certificate was revoked.
  base::Status StillHolds() const {
    if (caller.token != 0) return keys->tokens().Check(caller.token);
    if (caller.certified_at != 0) return keys->CheckUnrevoked(caller.host, caller.certified_at);
    return base::Ok{};
  }
};

class Gate {
 public:
  // The connections outlive it, and the rate, and the keys; null: no TLS is served.
  Gate(Connections& connections, auth::CallRate& rate, auth::UnixPolicy policy,
       auth::SiteKeys* keys)
      : connections_(connections), rate_(rate), policy_(std::move(policy)), keys_(keys) {}

  // kDenied: who calls can't be proven, or may not make this call. kExhausted: the user has
  // too many connections, or calls too often; the context then tells when to come again. kIo.
  // `who` is then the caller as far as known, if it is asked for.
  base::Result<Permit> Admit(grpc::CallbackServerContext& context, std::string_view rpc,
                             auth::Caller* who = nullptr);

 private:
  base::Status Identify(const grpc::CallbackServerContext& context, auth::Caller* caller);
  base::Status IdentifyByTls(const grpc::CallbackServerContext& context,
                             auth::Caller* caller) const;

  Connections& connections_;
  auth::CallRate& rate_;
  const auth::UnixPolicy policy_;
  auth::SiteKeys* const keys_;
};

}  // namespace trainctl::rpc
