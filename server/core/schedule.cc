#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "server/core/choice.h"
#include "server/core/gang.h"
#include "server/core/handlers.h"
#include "server/core/held.h"
#include "server/core/holds.h"
#include "server/core/inspect.h"
#include "server/core/leases.h"
#include "server/core/loan.h"
#include "server/core/preempt.h"
#include "server/core/quota.h"
#include "server/core/reach.h"
#include "server/core/run_length.h"
#include "server/core/waiting.h"
#include "server/core/walk.h"

namespace trainctl::core {
namespace {

using placement::ClassId;
using placement::FreeDevices;

// One pass over the lanes' first jobs, in the queue's order; whoever can't be placed holds the
// classes that it could use. Then one over the jobs behind them that are short enough. Whoever
// waits for its owner's quota is passed over. Others may give way to one that can't be placed.
//
// What one head of a kind holds is all that any of them would. What is free, and for how long, only
// shrinks during a pass. So heads are passed over by their kind, their length and what their
// owner's quota has left. tests/server/plain_schedule.h is the same without any of that.
class Pass {
 public:
  explicit Pass(Turn& turn)
      : turn_(turn),
        holds_(turn.state, turn.now),
        quotas_(turn.state, turn.now),
        walk_(turn.state.queue),
        kinds_(turn.state.queue.kind_numbers()),
        least_(LeastThatMayGiveWay(turn.state, turn.now)) {}

  void Run() {
    if (!SomethingIsLeft() && !least_) return;
    while (const std::optional<Walk::Stop> stop = walk_.Next()) {
      if (!MayGetAny(stop->head->first)) break;
      Visit(*stop->kind, stop->head);
    }
    PlaceShortOnes();
  }

 private:
  struct Candidate {
    Place place;
    const Queue::Lane* lane = nullptr;
    int64_t longest = kAnyTime;  // longer ones of the lane were refused
    bool operator<(const Candidate& other) const { return other.place < place; }  // first on top
  };

  // Of all lanes the jobs behind the first, which was tried. While jobs are placed gaps, quotas and
  // free devices only shrink. So a lane's next job is never before the one that was found. Who runs
  // as long as one that was refused is refused as well.
  //
  // Behind one that waits for its owner's quota jobs may stand that are before some who hold. Those
  // hold nothing from them.
  void PlaceShortOnes() {
    const bool for_all = SomethingIsLeft();
    if (!for_all && (!last_hold_ || MostFree() == 0)) return;
    const Queue::Length shortest = turn_.state.queue.ShortestOf(MostFree());
    if (!shortest || *shortest > std::max(holds_.LongestGap(), quotas_.LongestGap())) return;
    std::vector<Candidate> candidates;
    for (const auto& [demand, kind] : turn_.state.queue.kinds()) {
      if (kind.by_shortest.empty()) continue;
      AddBeforeHolds(kind, &candidates);
      if (for_all) AddShortOnes(kind, &candidates);
    }
    std::make_heap(candidates.begin(), candidates.end());
    while (!candidates.empty() && MayGetSome(candidates.front().place)) {
      std::pop_heap(candidates.begin(), candidates.end());
      Candidate& candidate = candidates.back();
      auto next = FirstShortEnough(candidate);
      if (next && *next == candidate.place) {
        Job& job = turn_.state.jobs.at(next->job);
        const int64_t length = *job.longest_run;
        if (!TryToPlace(*candidate.lane->kind, job, nullptr)) candidate.longest = length - 1;
        next = FirstShortEnough(candidate);
      }
      if (next) {
        candidate.place = *next;
        std::push_heap(candidates.begin(), candidates.end());
      } else {
        candidates.pop_back();
      }
    }
  }

  // Of the lanes whose first waits for a quota, before some who hold.
  void AddBeforeHolds(const Queue::Kind& kind, std::vector<Candidate>* candidates) {
    std::optional<Gaps> gaps;
    for (const auto& [place, head] : kind.heads) {
      if (!IsBeforeAHold(place)) return;
      if (!IsPassedOver(*head.lane)) continue;
      if (!gaps) gaps = GapsFor(kind);
      if (const auto first = FirstWithin(*gaps, *head.lane, kAnyTime))
        candidates->push_back({*first, head.lane});
    }
  }

  // Of the other lanes.
  void AddShortOnes(const Queue::Kind& kind, std::vector<Candidate>* candidates) {
    const Gaps gaps = GapsFor(kind);
    for (const auto& [length, lane] : kind.by_shortest) {
      if (length > gaps.any || Of(kind).HasRefused(length, kind.heads.begin()->first)) return;
      if (IsBeforeAHold(HeadOf(*lane)) && IsPassedOver(*lane)) continue;
      if (const auto first = FirstWithin(gaps, *lane, kAnyTime))
        candidates->push_back({*first, lane});
    }
  }

  static Place HeadOf(const Queue::Lane& lane) { return lane.Whole(lane.jobs.begin()->first); }

  // Whether the lane's owner has the quota for a time only, and others behind its first may do.
  bool IsPassedOver(const Queue::Lane& lane) const {
    if (lane.user == nullptr || lane.jobs.size() < 2 || lane.by_length.empty()) return false;
    const std::optional<int64_t> room = quotas_.RoomForLast(lane);
    return room && *room != kAnyTime && lane.by_length.begin()->first <= *room;
  }

  // The head's turn has come.
  void Visit(const Queue::Kind& kind, Queue::Heads::const_iterator head) {
    const auto [place, first] = *head;
    const std::optional<int64_t> room = quotas_.RoomFor(*first.lane, place);
    if (!FitsIn(room, first.length)) return GoOn(kind, std::next(head));
    const bool is_last_of_kind = kind.heads.size() == 1 && first.lane->jobs.size() == 1;
    if (TryToPlace(kind, *first.job, &place)) {
      // The next job of its lane has moved up.
      if (!is_last_of_kind) GoOn(kind, kind.heads.upper_bound(place));
      return;
    }
    // One that may have its owner's quota for a time only holds nothing.
    if (room == kAnyTime) Hold(kind, *first.job);
    GoOn(kind, std::next(head));
  }

  void Hold(const Queue::Kind& kind, const Job& job) {
    const bool may_take = MayTake(job.place());
    if (!may_take && holds_.AllAreWhole()) return;
    holds_.Add(job, !may_take || PreemptFor(turn_, holds_, job, quotas_.MostFor(job)));
    last_hold_ = job.place();
    Of(kind).holds = true;
  }

  // The kind's next turn is that of the first, from this head on, that may get devices or hold
  // some.
  void GoOn(const Queue::Kind& kind, Queue::Heads::const_iterator head) {
    const OfKind& of_kind = Of(kind);
    const bool may_hold = !of_kind.holds && !holds_.AllAreWhole();
    const std::optional<int64_t> room = RoomFor(kind);
    for (; head != kind.heads.end(); ++head) {
      const auto& [place, first] = *head;
      const bool may_get = FitsIn(room, first.length) && !of_kind.HasRefused(first.length, place);
      const bool may_take = MayTake(place);
      const bool is_worth_it = may_take || may_hold || may_get;
      if (is_worth_it && quotas_.MayYield(*first.lane, place, first.length))
        return walk_.StopAt(kind, head);
      if (!may_take && !may_hold && !room) return;  // nor may those of lower priority
    }
  }

  // For how long jobs of the kind may have devices; nullopt: not at all.
  std::optional<int64_t> RoomFor(const Queue::Kind& kind) {
    std::optional<int64_t> longest;
    if (kind.demand->devices > MostFree()) return longest;
    const Job& job = *Of(kind).example;
    for (const ClassId id : UsableClasses(turn_.state, job)) {
      if (FreeOf(turn_.state, job, id) >= job.row.spec.devices)
        longest = std::max(longest, holds_.RoomFor(id, job));
    }
    return longest;
  }

  bool MayGetAny(const Place& place) const { return SomethingIsLeft() || MayTake(place); }

  // Whether something may be left for jobs from that place on.
  bool MayGetSome(const Place& place) const {
    return (IsBeforeAHold(place) && MostFree() > 0) || SomethingIsLeft();
  }

  bool IsBeforeAHold(const Place& place) const { return last_hold_ && place < *last_hold_; }

  bool MayTake(const Place& place) const { return least_ && *least_ < place.priority; }

  bool SomethingIsLeft() const {
    const std::vector<FreeDevices::Pool>& pools = turn_.state.free.pools();
    for (size_t id = 0; id < pools.size(); ++id) {
      if (pools[id].free > 0 && holds_.MayYield(static_cast<ClassId>(id))) return true;
    }
    return false;
  }

  // Of any class.
  int64_t MostFree() const {
    int64_t most = 0;
    for (const FreeDevices::Pool& pool : turn_.state.free.pools()) most = std::max(most, pool.free);
    return most;
  }

  // What this pass knows of a kind.
  struct OfKind {
    const Job* example = nullptr;    // that was its first
    bool holds = false;              // nothing is left for it to hold
    std::optional<int64_t> refused;  // the least length for which there were no devices
    std::optional<Place> behind;     // then, of the last that held some

    // Whether there are none for a run of that length at the place, or behind it.
    bool HasRefused(Queue::Length length, const Place& place) const {
      return refused && length.value_or(kAnyTime) >= *refused && (!behind || *behind < place);
    }
  };

  OfKind& Of(const Queue::Kind& kind) {
    OfKind& known = kinds_[kind.number];
    if (known.example == nullptr) known.example = kind.heads.begin()->second.job;
    return known;
  }

  // Of one whose run has a limit, or no known length: who runs as long or longer gets none either.
  // A lease may be in the way of a known length only.
  void Refuse(OfKind& of_kind, const Job& job) const {
    const bool is_predicted = job.longest_run && !job.row.spec.resources.time_limit_seconds;
    if (is_predicted || !turn_.state.leased.empty()) return;
    const int64_t length = job.longest_run.value_or(kAnyTime);
    if (of_kind.refused && *of_kind.refused <= length) return;
    of_kind.refused = length;
    of_kind.behind = last_hold_;
  }

  // For how long jobs of a kind may have devices, of the classes that have enough for them.
  struct Gaps {
    int64_t held = 0;    // that jobs hold which wait
    int64_t any = 0;     // at all
    int64_t before = 0;  // from a place before those jobs
  };

  Gaps GapsFor(const Queue::Kind& kind) {
    Gaps gaps;
    if (kind.demand->devices > MostFree()) return gaps;
    const Job& job = *Of(kind).example;
    for (const ClassId id : UsableClasses(turn_.state, job)) {
      if (turn_.state.free.pools()[id].free < job.row.spec.devices) continue;
      const int64_t room = RoomBeforeLeases(turn_.state, id, job, turn_.now);
      gaps.held = std::max(gaps.held, std::min(room, holds_.Gap(id, job)));
      gaps.any =
          std::max({gaps.any, gaps.held, std::min(room, holds_.RoomFor(id, job).value_or(0))});
      gaps.before = std::max(gaps.before, room);
    }
    return gaps;
  }

  // A lane that has come to its last job stays. Whoever's quota has room for any time was looked at
  // before, but for what is held.
  std::optional<Place> FirstWithin(const Gaps& gaps, const Queue::Lane& lane,
                                   int64_t longest) const {
    const bool has_others = lane.jobs.size() > 1 && !lane.by_length.empty();
    if (!has_others || lane.by_length.begin()->first > std::min(gaps.before, longest))
      return std::nullopt;
    const std::optional<int64_t> room = quotas_.RoomForLast(lane);
    if (!room) return std::nullopt;
    if (*room == kAnyTime) return lane.FirstWithin(std::min(gaps.held, longest));
    if (IsBeforeAHold(HeadOf(lane))) {
      const auto first = lane.FirstWithin(std::min({gaps.before, *room, longest}));
      if (first && IsBeforeAHold(*first)) return first;
    }
    return lane.FirstWithin(std::min({gaps.any, *room, longest}));
  }

  std::optional<Place> FirstShortEnough(const Candidate& candidate) {
    return FirstWithin(GapsFor(*candidate.lane->kind), *candidate.lane, candidate.longest);
  }

  // `place`: of the job, for its owner's quota; null: behind all.
  bool TryToPlace(const Queue::Kind& kind, Job& job, const Place* place) {
    if (kind.demand->devices > MostFree()) return false;
    OfKind& of_kind = Of(kind);
    if (of_kind.HasRefused(job.longest_run, job.place())) return false;
    const std::vector<placement::DeviceId> devices =
        ChooseDevices(turn_.state, holds_, job, turn_.now);
    if (devices.empty()) {
      Refuse(of_kind, job);
      return false;
    }
    const ClassId id = turn_.state.free.entry(devices.front()).device_class;
    const auto room = quotas_.RoomWith(job, HeldWith(turn_.state, job, devices), place);
    const auto length =
        LongestRunOn(turn_.state.options, job, turn_.state.free.pools()[id].device_class);
    if (!FitsIn(room, length)) return false;
    LeaveQueue(turn_.state, job);
    if (NeedsInspection(turn_.state, job)) {
      InspectFirst(turn_, job);
    } else {
      holds_.Take(devices, job);
      StartGang(turn_, job, devices);
      quotas_.Take(job);
    }
    return true;
  }

  Turn& turn_;
  Holds holds_;
  Quotas quotas_;
  Walk walk_;
  std::vector<OfKind> kinds_;           // by Queue::Kind::number
  std::optional<Place> last_hold_;      // of those that hold: the others are before it
  const std::optional<int64_t> least_;  // priority of those that may give way
};

}  // namespace

void Schedule(Turn& turn) {
  turn.state.look_again = IsClosing(turn.state, turn.now);
  if (turn.state.look_again) return;
  const size_t live = turn.state.live.size();
  Pass(turn).Run();
  if (turn.state.live.size() > live) turn.state.look_again = true;
  AskForInspections(turn);
}

}  // namespace trainctl::core
