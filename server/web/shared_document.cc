#include "server/web/shared_document.h"

#include <utility>

namespace trainctl::web {

void SharedDocument::Look(base::SteadyMicros now, const std::function<void(Take)>& make,
                          Take take) {
  if (waiting_.empty() && text_ && now - made_ <= kMoment) return take(text_);
  waiting_.push_back(std::move(take));
  if (waiting_.size() > 1) return;
  make([this, now](base::Result<Text> text) {
    text_ = text ? *text : nullptr;
    made_ = now;
    for (const Take& waits : std::exchange(waiting_, {})) waits(text);
  });
}

}  // namespace trainctl::web
