// A change that was refused, to the audit log. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"
#include "server/auth/permissions.h"
#include "server/rpc/backend.h"

namespace trainctl::rpc {

struct Refusal {
  auth::Caller caller;  // as far as known
  std::string_view rpc;
  std::string subject;  // on what: "j12", "host/0"
};

// Nothing where the RPC changes nothing. Of errors only a denial is told in words: others may hold
// parts of a job file.
void TellRefusal(Backend& backend, const Refusal& refusal, const base::Error& error);

}  // namespace trainctl::rpc
