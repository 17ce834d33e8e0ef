#include "server/rpc/answer_budget.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/size.h"

namespace trainctl::rpc {
namespace {

base::Error TooLarge(int64_t bytes, int64_t most) {
  return {base::Code::kExhausted, "the answer takes " + base::FormatBytes(bytes) +
                                      ", and all that are not read may take " +
                                      base::FormatBytes(most) + ": ask for less"};
}

base::Error Crowded(const std::string& user) {
  return {base::Code::kExhausted, "too much of what clients of " + user +
                                      " were sent is not read, and this is the oldest: read "
                                      "sooner, or ask for less at once"};
}

base::Error Unread() {
  return {base::Code::kUnavailable,
          "the client has not read for too long what it was sent: ask again to go on"};
}

}  // namespace

base::Result<AnswerBudget::Answer> AnswerBudget::Enter(const std::string& user, int64_t bytes,
                                                       base::SteadyMicros now, End end) {
  bytes += kLeast;
  if (bytes > bounds_.bytes) return TooLarge(bytes, bounds_.bytes);
  const base::SteadyMicros until = now + bounds_.patience_us * (1 + bytes / kBytesOfPatience);
  std::vector<Entry> gone;
  Answer entered = 0;
  {
    const std::lock_guard lock(mutex_);
    while (users_.contains(user) && users_.at(user).bytes + bytes > bounds_.bytes_of_user)
      gone.push_back(Remove(OldestOf(user)));
    entered = ++last_;
    answers_[entered] = {user, bytes, until, std::move(end)};
    OfUser& own = users_[user];
    own.bytes += bytes;
    own.answers.insert(entered);
    bytes_ += bytes;
    while (bytes_ > bounds_.bytes) gone.push_back(Remove(OldestOfWhoHoldsMost()));
  }
  for (const Entry& entry : gone) entry.end(Crowded(entry.user));
  return entered;
}

void AnswerBudget::Leave(Answer answer) {
  const std::lock_guard lock(mutex_);
  if (answers_.contains(answer)) Remove(answer);
}

void AnswerBudget::EndStalled(base::SteadyMicros now) {
  std::vector<Entry> gone;
  {
    const std::lock_guard lock(mutex_);
    std::vector<Answer> stalled;
    for (const auto& [answer, entry] : answers_) {
      if (entry.until <= now) stalled.push_back(answer);
    }
    for (const Answer answer : stalled) gone.push_back(Remove(answer));
  }
  for (const Entry& entry : gone) entry.end(Unread());
}

int64_t AnswerBudget::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

AnswerBudget::Answer AnswerBudget::OldestOfWhoHoldsMost() const {
  const auto most =
      std::ranges::max_element(users_, {}, [](const auto& entry) { return entry.second.bytes; });
  return *most->second.answers.begin();
}

AnswerBudget::Entry AnswerBudget::Remove(Answer answer) {
  const auto found = answers_.find(answer);
  Entry entry = std::move(found->second);
  answers_.erase(found);
  bytes_ -= entry.bytes;
  const auto user = users_.find(entry.user);
  user->second.bytes -= entry.bytes;
  user->second.answers.erase(answer);
  if (user->second.answers.empty()) users_.erase(user);
  return entry;
}

}  // namespace trainctl::rpc
