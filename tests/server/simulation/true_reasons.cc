#include "tests/server/simulation/true_reasons.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/held.h"
#include "server/core/leases.h"
#include "server/core/loan.h"
#include "tests/server/simulation/site_facts.h"

namespace trainctl::core {
namespace {

// What a text names: "j12".
std::vector<base::JobId> JobsIn(const std::string& text) {
  std::vector<base::JobId> jobs;
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    const bool begins = i == 0 || !std::isalnum(static_cast<unsigned char>(text[i - 1]));
    if (!begins || text[i] != 'j') continue;
    size_t end = i + 1;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
    if (const auto id = base::ParseJobId(text.substr(i, end - i))) jobs.push_back(*id);
  }
  return jobs;
}

// What stands between semicolons.
std::vector<std::string> Clauses(const std::string& text) {
  std::vector<std::string> clauses;
  for (size_t from = 0; from <= text.size();) {
    const size_t to = std::min(text.find("; ", from), text.size());
    clauses.push_back(text.substr(from, to - from));
    from = to + 2;
  }
  return clauses;
}

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string CountText(int64_t devices) {
  return std::to_string(devices) + (devices == 1 ? " device" : " devices");
}

class TrueReason {
 public:
  TrueReason(const State& state, const Job& job, const Now& now, std::string text)
      : state_(state), job_(job), now_(now), text_(std::move(text)) {}

  void Check() const {
    NamesWhoIsThere();
    const bool is_loans = Begins("this site's devices are lent to it until ");
    ASSERT_EQ(is_loans, IsClosing(state_, now_));
    if (is_loans) return;
    if (Begins("can't start: ")) return ItExceedsItsQuota();
    if (Begins("waits until ")) return OthersHaveNotEnded();
    if (Begins("waits for its group, ")) return ItsGroupIsFull();
    if (Begins("its model and data are being inspected by ")) return SomebodyLooks();
    if (Begins("waits for the inspection of ")) return NobodyLooks();
    if (Begins("behind ")) return SomebodyIsAhead();
    if (Begins("waits for " + job_.row.user + "'s quota")) return ItsQuotaIsUsed();
    if (Begins("needs ") || Begins("no device of ") || Begins("no worker ")) return NoneIsThere();
    if (Begins("its lease ") || Begins("lease ") || Begins("waits for lease "))
      return ItsLeaseIsNotOpen();
    if (Has(text_, " after a failure") || Has(text_, " failure without progress"))
      return ItsPauseIsNotOver();
    ASSERT_TRUE(Begins("waits for " + Wanted(job_))) << "a reason of no known kind";
    ASSERT_EQ(job_.lane, Lane::kQueue);
    if (Has(text_, " are drained: ") || Has(text_, " are kept out: ")) TooManyAreOutOfOrder();
    if (Has(text_, " free")) TooFewAreFree();
    if (job_.row.spec.exclusive) SomethingIsOnItsHosts();
    LeasesHaveWhatIsSaid();
  }

 private:
  bool Begins(const std::string& words) const { return text_.starts_with(words); }
  int64_t Wants() const { return job_.row.spec.devices; }
  int64_t Quota() const {
    return state_.options.policy.Of(job_.row.user).max_running_devices.value_or(1'000'000);
  }

  static std::string Wanted(const Job& job) {
    if (!job.row.spec.exclusive) return CountText(job.row.spec.devices);
    return job.row.spec.devices == 1 ? "a host of its own"
                                     : CountText(job.row.spec.devices) + " on hosts of its own";
  }

  // But for ranks that are what is left of jobs.
  void NamesWhoIsThere() const {
    ASSERT_FALSE(text_.empty());
    const bool is_of_the_past = Has(text_, "a rank of ");
    for (const base::JobId other : JobsIn(text_))
      ASSERT_TRUE(other != job_.row.id && (is_of_the_past || state_.jobs.contains(other)));
  }

  void ItExceedsItsQuota() const { ASSERT_GT(LeastHeld(state_, job_), Quota()); }

  void OthersHaveNotEnded() const { ASSERT_EQ(text_, FollowingText()); }

  // By its file, of those that have not ended.
  std::string FollowingText() const {
    std::map<base::JobId, job::After> follows;
    for (const auto& [name, after] : job_.row.spec.resources.after) {
      const base::JobId id = *base::ParseJobId(name);
      if (FindJob(state_, id) != nullptr) follows[id] = after;
    }
    std::string text;
    for (const auto& [id, after] : follows) {
      text += (text.empty() ? "waits until " : ", and ") + base::ToString(id) + ", which is " +
              std::string(job::Name(state_.jobs.at(id).status.state)) +
              (after == job::After::kOk ? ", has succeeded" : ", has ended");
    }
    return text;
  }

  void ItsGroupIsFull() const {
    const int64_t bound = state_.bounded_groups.at(job_.row.group).max_parallel;
    ASSERT_EQ(job_.lane, Lane::kBounded);
    ASSERT_TRUE(Has(text_, "at most " + std::to_string(bound) + " go at once: "));
    const std::vector<base::JobId> others = JobsIn(text_);
    ASSERT_GE(static_cast<int64_t>(others.size()), std::min<int64_t>(bound, 4));
    for (const base::JobId other : others) {
      ASSERT_EQ(state_.jobs.at(other).row.group, job_.row.group);
      ASSERT_NE(state_.jobs.at(other).lane, Lane::kBounded);
    }
  }

  void SomebodyLooks() const {
    ASSERT_EQ(job_.lane, Lane::kUninspected);
    ASSERT_TRUE(Has(text_, " by " + state_.inspecting.at(job_.row.id).worker + " ("));
  }

  void NobodyLooks() const {
    ASSERT_EQ(job_.lane, Lane::kUninspected);
    ASSERT_FALSE(state_.inspecting.contains(job_.row.id));
    if (Has(text_, "connected")) {
      for (const auto& [name, worker] : state_.workers) ASSERT_FALSE(CouldLook(worker)) << name;
    } else if (Has(text_, "nobody could look yet")) {
      ASSERT_GT(job_.failed_inspections, 0);
    } else {
      ASSERT_FALSE(state_.inspecting.empty());
      ASSERT_TRUE(
          text_.ends_with(", behind " + std::to_string(state_.inspecting.size()) + " others"));
    }
  }

  // It has such a device as the job may run on, of which the site has enough.
  bool CouldLook(const Worker& worker) const {
    if (!worker.connected || !Meets(worker)) return false;
    if (job_.hosts_that_refused.contains(worker.row.host)) return false;
    return MostOfOneModel() >= Wants() && CountOf(worker.row.device.name) >= Wants();
  }

  bool Meets(const Worker& worker) const {
    std::string reason;
    return !job_.avoids.contains(worker.row.name) &&
           job::MeetsConstraints(job_.row.spec, SiteDeviceOf(worker.row), &reason);
  }

  // Free or not, leased or not; of a job under a lease: of the lease's.
  int64_t CountOf(const std::string& model) const {
    return std::ranges::count_if(state_.workers, [&](const auto& entry) {
      const bool is_there = job_.lease == 0 || MayUse(state_, job_, entry.second);
      return is_there && Meets(entry.second) && entry.second.row.device.name == model;
    });
  }

  int64_t MostOfOneModel() const {
    int64_t most = 0;
    for (const auto& [name, worker] : state_.workers)
      most = std::max(most, CountOf(worker.row.device.name));
    return most;
  }

  void NoneIsThere() const {
    const int64_t most = MostOfOneModel();
    ASSERT_LT(most, Wants());
    ASSERT_TRUE(!Begins("needs ") || (Begins("needs " + CountText(Wants()) + " of one model") &&
                                      text_.ends_with(" has " + std::to_string(most))));
    ASSERT_TRUE(!Begins("no worker is registered") || state_.workers.empty());
  }

  // It goes before, may have its devices, and competes.
  void SomebodyIsAhead() const {
    const Job& ahead = state_.jobs.at(JobsIn(text_).front());
    ASSERT_EQ(job_.lane, Lane::kQueue);
    ASSERT_EQ(ahead.lane, Lane::kQueue);
    ASSERT_TRUE(ahead.place() < job_.place());
    ASSERT_TRUE(HasQuota(state_, ahead));
    ASSERT_TRUE(Has(text_, ", which waits for " + Wanted(ahead)));
    std::set<Kind> kinds;
    for (const Worker* worker : core::Wanted(state_, ahead)) kinds.insert(KindOf(state_, *worker));
    ASSERT_TRUE(std::ranges::any_of(core::Wanted(state_, job_), [&](const Worker* worker) {
      return kinds.contains(KindOf(state_, *worker));
    })) << "they want nothing of one kind";
  }

  void ItsQuotaIsUsed() const {
    const int64_t held = DevicesHeldBy(state_, job_.row.user);
    ASSERT_TRUE(Has(text_, job_.row.user + " holds " + CountText(held) + " of at most " +
                               std::to_string(Quota())));
    int64_t wanted = LeastHeld(state_, job_);
    const size_t too_many = text_.find("; hosts that are free for it have ");
    if (too_many != std::string::npos)
      wanted =
          std::atoll(text_.c_str() + too_many + sizeof("; hosts that are free for it have") - 1);
    wanted += held;
    if (Has(text_, ", which goes first")) {
      const Job& first = FirstNamed();
      wanted += LeastHeld(state_, first);
      ASSERT_EQ(first.row.user, job_.row.user);
      ASSERT_TRUE(first.place() < job_.place());
    }
    ASSERT_GT(wanted, Quota());
  }

  const Job& FirstNamed() const {
    const size_t end = text_.find(", which goes first");
    return state_.jobs.at(JobsIn(text_.substr(0, end)).back());
  }

  void ItsLeaseIsNotOpen() const {
    ASSERT_EQ(job_.lane, Lane::kLeased);
    const auto lease = state_.leases.find(job_.lease);
    ASSERT_EQ(Begins("its lease is over"), lease == state_.leases.end());
    if (lease == state_.leases.end()) return;
    ASSERT_TRUE(Has(text_, LeaseText(lease->second.row)));
    const bool is_ending = Has(text_, "is about to end");
    ASSERT_EQ(is_ending, lease->second.closing);
    if (is_ending) return;
    ASSERT_FALSE(lease->second.active);
    ASSERT_TRUE(Has(text_, "which begins " + UtcText(lease->second.row.start)));
  }

  void ItsPauseIsNotOver() const {
    ASSERT_GT(job_.status.attempt, 0);
    ASSERT_TRUE(job_.retry.pause_until);
    ASSERT_GE(*job_.retry.pause_until, now_.steady);
  }

  // "3 of 4 are drained: …"
  void TooManyAreOutOfOrder() const {
    for (const std::string& clause : Clauses(text_.substr(text_.find(": ") + 2))) {
      long long out = 0, all = 0;
      if (!Has(clause, " are drained: ") && !Has(clause, " are kept out: ")) continue;
      ASSERT_EQ(std::sscanf(clause.c_str(), "%lld of %lld are", &out, &all), 2) << clause;
      ASSERT_LT(all - out, Wants());
      ASSERT_TRUE(OfSomeKind([&](const Kind& kind) {
        return Count(kind, [](const Worker&) { return true; }) == all &&
               Count(kind, [&](const Worker& worker) { return IsOutOfOrder(state_, worker); }) ==
                   out;
      }));
    }
  }

  // "2 of 4 free; j7 has 1; 1 LOST": of one kind all that is said is so, and it is all of them.
  void TooFewAreFree() const {
    const std::string rest = text_.substr(text_.find(": ") + 2);
    ASSERT_TRUE(OfSomeKind([&](const Kind& kind) { return IsTrueOf(kind, rest); }));
    long long free = 0;
    std::sscanf(rest.c_str(), "%lld of", &free);
    if (state_.look_again) return;  // it starts at the next Tick, behind one that has started now
    ASSERT_TRUE(Has(text_, " kept for ") || Has(text_, " wants ") || free < Wants());
  }

  bool IsTrueOf(const Kind& kind, const std::string& said) const {
    long long free = 0, all = 0, told = 0;
    if (std::sscanf(said.c_str(), "%lld of %lld free", &free, &all) != 2) return false;
    told = free;
    for (const std::string& clause : Clauses(said)) {
      long long id = 0, count = 0;
      int length = 0;
      if (std::sscanf(clause.c_str(), "j%lld has %lld", &id, &count) == 2) {
        if (Count(kind, [&](const Worker& worker) { return IsHeldBy(worker, {id}); }) != count)
          return false;
        told += count;
      } else if (std::sscanf(clause.c_str(), "%*d other jobs have %lld", &count) == 1 ||
                 std::sscanf(clause.c_str(), "%*d other job has %lld", &count) == 1) {
        told += count;
      } else if (std::sscanf(clause.c_str(), "%lld %*[A-Z]%n", &count, &length) == 1 &&
                 static_cast<size_t>(length) == clause.size()) {
        told += count;  // "1 LOST"
      }
    }
    const auto is_any = [](const Worker&) { return true; };
    return told == all && Count(kind, is_any) == all &&
           Count(kind, [&](const Worker& worker) { return IsFree(state_, worker); }) == free;
  }

  bool IsHeldBy(const Worker& worker, base::JobId id) const {
    if (worker.holder) return worker.holder->job == id;
    const Job* owner = OwnerOfHost(state_, worker.row.host);
    return owner != nullptr && owner->row.id == id;
  }

  // In the way of an exclusive job.
  void SomethingIsOnItsHosts() const {
    for (const std::string& clause : Clauses(text_.substr(text_.find(": ") + 2))) {
      long long id = 0;
      char name[64] = "";
      const bool names_job = std::sscanf(clause.c_str(), "j%lld holds ", &id) == 1;
      ASSERT_TRUE(!names_job || state_.live.contains({id})) << clause;
      const bool names_worker = std::sscanf(clause.c_str(), "worker %63s is away", name) == 1;
      ASSERT_TRUE(!names_worker || !state_.workers.at(name).connected) << clause;
    }
  }

  // "lease 'lab' of ann (…) has 2": of one model that would do.
  void LeasesHaveWhatIsSaid() const {
    for (const auto& [id, lease] : state_.leases) {
      for (const std::string& clause : Clauses(text_)) {
        const size_t at = clause.find(LeaseText(lease.row) + " ("), has = clause.find(") has ");
        if (at == std::string::npos || has == std::string::npos) continue;
        const int64_t count = std::atoll(clause.c_str() + has + 6);
        if (count == 0) continue;  // of a slot that is named
        ASSERT_TRUE(lease.active);
        ASSERT_TRUE(OfSomeKind([&](const Kind& kind) {
          return std::get<4>(kind) == id && count == CountLeased(kind);
        })) << clause;
      }
    }
  }

  // Of those that would do for the job but for their lease.
  int64_t CountLeased(const Kind& kind) const {
    return std::ranges::count_if(state_.workers, [&](const auto& entry) {
      return Meets(entry.second) && KindOf(state_, entry.second) == kind;
    });
  }

  template <class Is>
  int64_t Count(const Kind& kind, const Is& is) const {
    return std::ranges::count_if(state_.workers, [&](const auto& entry) {
      const Worker& worker = entry.second;
      return MayUse(state_, job_, worker) && KindOf(state_, worker) == kind && is(worker);
    });
  }

  template <class Is>
  bool OfSomeKind(const Is& is) const {
    std::set<Kind> kinds;
    for (const auto& [name, worker] : state_.workers) kinds.insert(KindOf(state_, worker));
    return std::ranges::any_of(kinds, is);
  }

  const State& state_;
  const Job& job_;
  const Now& now_;
  const std::string text_;
};

}  // namespace

void ReasonsAreTrue(const State& state, const Now& now) {
  for (const auto& [id, job] : state.jobs) {
    if (job.status.state != job::JobState::kQueued) continue;
    const std::string reason = Reason(state, job, now);
    SCOPED_TRACE(base::ToString(id) + ": " + reason);
    TrueReason(state, job, now, reason).Check();
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace trainctl::core
