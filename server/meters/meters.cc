#include "server/meters/meters.h"

#include "server/auth/permissions.h"

namespace trainctl::meters {
namespace {

size_t EndOf(const base::Status& status) {
  if (status) return 0;
  switch (status.error().code) {
    case base::Code::kInvalid: return 1;
    case base::Code::kNotFound: return 2;
    case base::Code::kUnavailable: return 3;
    case base::Code::kExhausted: return 4;
    case base::Code::kIo:
    case base::Code::kInternal: return 5;
    case base::Code::kConflict: return 6;
    case base::Code::kDenied: return 7;
  }
  return 5;
}

}  // namespace

Meters::Meters(const base::Clock& clock) : clock_(clock) {
  for (const auth::Permission& permission : auth::Permissions()) calls_[permission.rpc];
}

void Meters::CallEnded(std::string_view rpc, const base::Status& status, base::SteadyMicros began) {
  const auto call = calls_.find(rpc);
  if (call == calls_.end()) return;
  ++call->second.ended[EndOf(status)];
  call->second.seconds.Add(Now() - began);
}

void Meters::CommitEnded(bool stored, base::SteadyMicros began) {
  if (!stored) ++failed_commits_;
  commits_.Add(Now() - began);
}

}  // namespace trainctl::meters
