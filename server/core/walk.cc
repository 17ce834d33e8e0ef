#include "server/core/walk.h"

#include <algorithm>

namespace trainctl::core {
namespace {

bool IsBehind(const Walk::Stop& left, const Walk::Stop& right) {
  return right.head->first < left.head->first;
}

}  // namespace

std::optional<Walk::Stop> Walk::Next() {
  const std::optional<Stop> fresh = FirstNotMet();
  if (fresh && (stops_.empty() || IsBehind(stops_.front(), *fresh))) {
    met_until_ = fresh->head->first;
    met_[fresh->kind->number] = true;
    return fresh;
  }
  if (stops_.empty()) return std::nullopt;
  std::ranges::pop_heap(stops_, IsBehind);
  const Stop next = stops_.back();
  stops_.pop_back();
  return next;
}

void Walk::StopAt(const Queue::Kind& kind, Queue::Heads::const_iterator head) {
  stops_.push_back({&kind, head});
  std::ranges::push_heap(stops_, IsBehind);
}

// The first of a kind that was met may have moved on.
std::optional<Walk::Stop> Walk::FirstNotMet() {
  const auto& firsts = queue_.kinds_in_order();
  auto next = met_until_ ? firsts.upper_bound(*met_until_) : firsts.begin();
  for (; next != firsts.end() && met_[next->second->number]; ++next) met_until_ = next->first;
  if (next == firsts.end()) return std::nullopt;
  return Stop{next->second, next->second->heads.begin()};
}

}  // namespace trainctl::core
