#include "tests/server/simulation/what_is_decided.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "common/rank/deadline.h"
#include "tests/server/describe.h"

namespace trainctl::core {
namespace {

template <class End>  // or a Stop
std::string Text(const End& end) {
  return std::string(job::Name(end.outcome)) + ": " + end.message;
}

// A rank may say that it failed before its worker says that it has stopped it for its deadline.
void ItsStopStays(const Stop& before, const AttemptRow& row) {
  ASSERT_TRUE(row.stop) << base::ToString(row.job) << " is stopped no longer";
  const bool is_deadline =
      before.outcome == job::Outcome::kFailed && job::IsOfDeadline(row.stop->outcome);
  ASSERT_TRUE(is_deadline || Text(*row.stop) == Text(before))
      << base::ToString(row.job) << " is stopped by " << Text(before) << ", and then by "
      << Text(*row.stop);
}

class Decided {
 public:
  explicit Decided(const Ledger& before) : before_(before) {}

  void operator()(const AttemptRow& row) {
    const AttemptRow* before = Find(before_.attempts(), attempts_, {row.job, row.attempt});
    if (before != nullptr && before->stop) ItsStopStays(*before->stop, row);
    if (before != nullptr && before->end) {
      ASSERT_TRUE(row.end) << base::ToString(row.job) << " goes on after its end";
      ASSERT_EQ(Text(*row.end), Text(*before->end)) << base::ToString(row.job);
    }
    attempts_[{row.job, row.attempt}] = &row;
  }
  void operator()(const RankRow& row) {
    const RankRow* before = Find(before_.ranks(), ranks_, row.key);
    if (before != nullptr && before->proof != Proof::kNone) {
      ASSERT_EQ(row.proof, before->proof) << Short(row.key) << " ends again";
      ASSERT_EQ(row.outcome ? Text(*row.outcome) : "",
                before->outcome ? Text(*before->outcome) : "")
          << Short(row.key) << " says more after its end";
    }
    ranks_[row.key] = &row;
  }
  void operator()(const UpdateJob& row) const {
    const auto before = before_.jobs().find(row.job);
    ASSERT_TRUE(before == before_.jobs().end() ||
                before->second.status.state != job::JobState::kFinished)
        << base::ToString(row.job) << " has ended, and changes";
  }
  template <class Other>
  void operator()(const Other&) const {}

 private:
  // As this Step has stored it, or one before.
  template <class Key, class Row>
  static const Row* Find(const std::map<Key, Row>& stored, const std::map<Key, const Row*>& now,
                         const Key& key) {
    if (const auto found = now.find(key); found != now.end()) return found->second;
    const auto found = stored.find(key);
    return found == stored.end() ? nullptr : &found->second;
  }

  const Ledger& before_;
  std::map<std::pair<base::JobId, int64_t>, const AttemptRow*> attempts_;
  std::map<job::RankKey, const RankRow*> ranks_;
};

}  // namespace

void WhatIsDecidedStays(const Ledger& before, const std::vector<Persist>& rows) {
  Decided decided(before);
  for (const Persist& row : rows) std::visit(decided, row);
}

}  // namespace trainctl::core
