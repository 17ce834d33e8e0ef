#include "server/rpc/request_budget.h"

namespace trainctl::rpc {
namespace {

base::Error TooManyCalls(const RequestBudget::Bounds& bounds) {
  return {base::Code::kExhausted,
          std::to_string(bounds.calls) + " calls wait already: try again in a moment"};
}

base::Error TooManyCallsOf(const std::string& user, const RequestBudget::Bounds& bounds) {
  return {base::Code::kExhausted, user + " has " + std::to_string(bounds.calls_of_user) +
                                      " calls that wait already, and may not have more: try again "
                                      "when some are answered"};
}

}  // namespace

base::Result<RequestBudget::Call> RequestBudget::Enter(const std::string& user) {
  const std::lock_guard lock(mutex_);
  if (calls_.size() >= bounds_.calls) return TooManyCalls(bounds_);
  const auto known = users_.find(user);
  if (known != users_.end() && known->second.calls >= bounds_.calls_of_user)
    return TooManyCallsOf(user, bounds_);
  ++users_[user].calls;
  calls_[++last_].user = user;
  return last_;
}

void RequestBudget::Reserve(Call call, std::function<void()> ready) {
  Ready now;
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = calls_.at(call);
    entry.ready = std::move(ready);
    users_.at(entry.user).waiting.emplace(call, &entry);
    now = TakeReady();
  }
  for (const auto& start : now) start();
}

void RequestBudget::Shrink(Call call, int64_t bytes) {
  Ready now;
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = calls_.at(call);
    Give(&entry, entry.bytes - bytes);
    now = TakeReady();
  }
  for (const auto& start : now) start();
}

bool RequestBudget::Withdraw(Call call) {
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(call);
  if (found == calls_.end()) return false;
  return users_.at(found->second.user).waiting.erase(call) != 0;
}

void RequestBudget::Leave(Call call) {
  Ready now;
  {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(call);
    if (found == calls_.end()) return;
    Give(&found->second, found->second.bytes);
    const auto user = users_.find(found->second.user);
    user->second.waiting.erase(call);
    if (--user->second.calls == 0) users_.erase(user);
    calls_.erase(found);
    now = TakeReady();
  }
  for (const auto& start : now) start();
}

int64_t RequestBudget::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

RequestBudget::Ready RequestBudget::TakeReady() {
  Ready ready;
  while (bytes_ + kLargest <= bounds_.bytes) {
    OfUser* user = NextUser();
    if (user == nullptr) break;
    Entry* entry = user->waiting.begin()->second;
    user->waiting.erase(user->waiting.begin());
    Give(entry, -kLargest);
    ready.push_back(std::move(entry->ready));
  }
  return ready;
}

// Of those who hold the least, who waits longest. nullptr: nobody who waits may have more.
RequestBudget::OfUser* RequestBudget::NextUser() {
  OfUser* next = nullptr;
  for (auto& [name, user] : users_) {
    if (user.waiting.empty() || user.bytes + kLargest > bounds_.bytes_of_user) continue;
    const auto rank = [](const OfUser& of) {
      return std::pair(of.bytes, of.waiting.begin()->first);
    };
    if (next == nullptr || rank(user) < rank(*next)) next = &user;
  }
  return next;
}

void RequestBudget::Give(Entry* entry, int64_t bytes) {
  entry->bytes -= bytes;
  users_.at(entry->user).bytes -= bytes;
  bytes_ -= bytes;
}

}  // namespace trainctl::rpc
