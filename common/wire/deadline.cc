#include "common/wire/deadline.h"

#include <algorithm>

#include "common/base/utf8.h"
#include "common/wire/texts.h"
#include "proto/trainctl.pb.h"

namespace trainctl::wire {
namespace {

constexpr int64_t kFarthest = int64_t{10} * 366 * 86'400 * 1'000'000;  // ten years

}  // namespace

v1::Deadline ToWire(const job::Deadline& deadline) {
  v1::Deadline message;
  message.set_in_us(deadline.in_us);
  message.set_grace_us(deadline.grace_us);
  message.set_outcome(std::string(job::Name(deadline.outcome)));
  message.set_message(deadline.message);
  return message;
}

base::Result<job::Deadline> FromWire(const v1::Deadline& message) {
  const std::optional<job::Outcome> outcome = ReadDeadlineOutcome(message.outcome());
  if (!outcome)
    return base::Error{base::Code::kInvalid,
                       "deadline.outcome: expected LEASE_ENDED, TIMEOUT or PREEMPTED"};
  return job::Deadline{std::clamp<int64_t>(message.in_us(), 0, kFarthest),
                       std::clamp<int64_t>(message.grace_us(), 0, kFarthest), *outcome,
                       base::Excerpt(message.message(), kMaxTextBytes)};
}

std::optional<job::Outcome> ReadDeadlineOutcome(const std::string& name) {
  const std::optional<job::Outcome> outcome = job::ParseOutcome(name);
  return outcome && job::IsOfDeadline(*outcome) ? outcome : std::nullopt;
}

}  // namespace trainctl::wire
