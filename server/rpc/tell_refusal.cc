#include "server/rpc/tell_refusal.h"

#include "common/base/utf8.h"

namespace trainctl::rpc {
namespace {

constexpr size_t kMaxTextBytes = 256;

std::string_view NameOf(base::Code code) {
  switch (code) {
    case base::Code::kInvalid: return "invalid";
    case base::Code::kNotFound: return "not found";
    case base::Code::kUnavailable: return "unavailable";
    case base::Code::kExhausted: return "no room: a bound was met, or a disk is full";
    case base::Code::kConflict: return "the state does not allow it";
    case base::Code::kDenied: return "denied";
    case base::Code::kIo:
    case base::Code::kInternal: return "internal";
  }
  return "internal";
}

std::string VerdictOf(const base::Error& error) {
  if (error.code == base::Code::kDenied)
    return "denied: " + base::Excerpt(error.message, kMaxTextBytes);
  return "refused: " + std::string(NameOf(error.code));
}

}  // namespace

void TellRefusal(Backend& backend, const Refusal& refusal, const base::Error& error) {
  const std::string_view change = auth::PermissionOf(refusal.rpc).change;
  if (change.empty()) return;
  coordinator::RefusedChange refused{refusal.caller, std::string(change),
                                     base::Excerpt(refusal.subject, kMaxTextBytes),
                                     VerdictOf(error)};
  // Recorded before the caller has its answer, so before what it asks next.
  backend.loop.Dispatch([&coordinator = backend.coordinator, refused = std::move(refused)] {
    coordinator.RecordRefusal(refused);
  });
}

}  // namespace trainctl::rpc
