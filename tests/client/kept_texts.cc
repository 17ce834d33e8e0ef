#include "tests/client/kept_texts.h"

#include <algorithm>
#include <set>

namespace trainctl::client {

void KeepTextsAskedFor(const v1::GetRequest& request, v1::JobDetail* detail) {
  auto* said = detail->mutable_continuations();
  if (request.all_texts() || said->empty()) return;
  std::set<int64_t> wanted = {said->begin()->step(), said->rbegin()->step()};
  if (request.has_texts_of_step()) wanted = {request.texts_of_step()};
  const auto is_left_out = [&](const auto& one) { return !wanted.contains(one.step()); };
  said->erase(std::remove_if(said->begin(), said->end(), is_left_out), said->end());
}

}  // namespace trainctl::client
