#include "server/auth/call_rate.h"

#include <algorithm>

namespace trainctl::auth {
namespace {

constexpr int64_t kNanosOfSecond = 1'000'000'000, kNanosOfMilli = 1'000'000;

std::string ShownWait(int64_t wait_ms) {
  if (wait_ms < 1000) return std::to_string(wait_ms) + " ms";
  return std::to_string((wait_ms + 999) / 1000) + " s";
}

base::Error TooOften(const std::string& user, const RateBound& bound, int64_t wait_ms) {
  return {base::Code::kExhausted,
          user + " calls too often: " + std::to_string(*bound.per_second) +
              " calls a second are taken, " + std::to_string(bound.burst) +
              " at once (max_calls_per_second and max_call_burst of the site's policy); try again "
              "in " +
              ShownWait(wait_ms)};
}

}  // namespace

std::optional<CallRate::Refusal> CallRate::Take(const std::string& user) {
  auto refusal = Ask(user, /*take=*/true);
  if (refusal) ++refused_;
  return refusal;
}

std::optional<CallRate::Refusal> CallRate::Look(const std::string& user) {
  return Ask(user, /*take=*/false);
}

std::optional<CallRate::Refusal> CallRate::Ask(const std::string& user, bool take) {
  const RateBound bound = bound_of_(user);
  if (!bound.per_second) return std::nullopt;
  const int64_t interval = kNanosOfSecond / *bound.per_second;
  const int64_t now = clock_.Steady() * 1000;
  int64_t missing = 0;  // until the bucket has a whole call
  {
    const std::lock_guard lock(mutex_);
    int64_t& full_at = FullAt(user, now);
    const int64_t then = std::max(full_at, now) + interval;
    missing = then - now - bound.burst * interval;
    if (missing <= 0) {
      if (take) full_at = then;
      return std::nullopt;
    }
  }
  const int64_t wait_ms = (missing + kNanosOfMilli - 1) / kNanosOfMilli;
  return Refusal{TooOften(user, bound, wait_ms), wait_ms};
}

std::string PayerOf(const Caller& caller) {
  if (!caller.name.empty()) return caller.name;
  return caller.tls ? EveryoneAt(caller) : CallRate::kUnknown;
}

std::string EveryoneAt(const Caller& caller) {
  return "whoever calls from " + caller.address.substr(0, caller.address.rfind(':'));
}

int64_t& CallRate::FullAt(const std::string& user, int64_t now) {
  const auto known = full_at_.find(user);
  if (known != full_at_.end()) return known->second;
  if (full_at_.size() >= kMostUsers && now >= next_sweep_) {
    std::erase_if(full_at_, [now](const auto& bucket) { return bucket.second <= now; });
    next_sweep_ = now + kNanosOfSecond;
  }
  return full_at_.size() < kMostUsers ? full_at_[user] : others_full_at_;
}

}  // namespace trainctl::auth
