#include "server/auth/sign_ins.h"

#include <algorithm>
#include <utility>

namespace trainctl::auth {
namespace {

constexpr int64_t kMicrosOfSecond = 1'000'000;

base::Error NotLetIn(const std::string& text) { return {base::Code::kDenied, text}; }

base::Error SessionEnded() {
  return NotLetIn("this session has ended: sign in again (trainctl ui)");
}

}  // namespace

base::Result<std::string> SignIns::Add(Entries& entries, Caller caller, int64_t seconds) {
  auto text = RandomText();
  if (!text) return text;
  const base::SteadyMicros now = clock_.Steady();
  std::erase_if(entries, [now](const Entry& entry) { return entry.ends_at <= now; });
  const auto is_theirs = [&caller](const Entry& entry) { return entry.caller.name == caller.name; };
  if (std::ranges::count_if(entries, is_theirs) >= static_cast<ptrdiff_t>(kMostOfUser))
    entries.erase(std::ranges::find_if(entries, is_theirs));
  if (entries.size() >= kMost) {
    return base::Error{base::Code::kExhausted, std::to_string(kMost) +
                                                   " others are signing in or have done so: try "
                                                   "again later"};
  }
  entries.push_back({HashOf(*text), std::move(caller), now + seconds * kMicrosOfSecond});
  return text;
}

base::Result<std::string> SignIns::MakeCode(Caller caller) {
  const std::lock_guard lock(mutex_);
  return Add(codes_, std::move(caller), kCodeSeconds);
}

base::Result<Caller> SignIns::UseCode(std::string_view text) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(codes_, HashOf(text), &Entry::hash);
  if (found == codes_.end() || found->ends_at <= clock_.Steady()) {
    return NotLetIn("this link was used already, or is older than " + std::to_string(kCodeSeconds) +
                    " s: trainctl ui makes another");
  }
  Caller caller = std::move(found->caller);
  codes_.erase(found);
  if (const base::Status good = CheckToken(caller); !good) return good.error();
  return caller;
}

base::Result<std::string> SignIns::Begin(Caller caller) {
  const std::lock_guard lock(mutex_);
  caller.session = ++last_session_;
  return Add(sessions_, std::move(caller), kSessionSeconds);
}

base::Result<Caller> SignIns::Find(std::string_view text) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(sessions_, HashOf(text), &Entry::hash);
  if (found == sessions_.end() || found->ends_at <= clock_.Steady()) return SessionEnded();
  if (const base::Status good = CheckToken(found->caller); !good) return good.error();
  return found->caller;
}

void SignIns::End(int64_t session) {
  const std::lock_guard lock(mutex_);
  std::erase_if(sessions_,
                [session](const Entry& entry) { return entry.caller.session == session; });
}

base::Status SignIns::StillHolds(const Caller& caller) const {
  if (base::Status good = CheckToken(caller); !good || caller.session == 0) return good;
  const std::lock_guard lock(mutex_);
  const base::SteadyMicros now = clock_.Steady();
  const bool is_there = std::ranges::any_of(sessions_, [&](const Entry& entry) {
    return entry.caller.session == caller.session && entry.ends_at > now;
  });
  return is_there ? base::Status(base::Ok{}) : SessionEnded();
}

base::Status SignIns::CheckToken(const Caller& caller) const {
  return caller.token == 0 ? base::Status(base::Ok{}) : tokens_.Check(caller.token);
}

}  // namespace trainctl::auth
