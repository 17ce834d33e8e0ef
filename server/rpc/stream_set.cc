#include "server/rpc/stream_set.h"

namespace trainctl::rpc {
namespace {

base::Error Stopping() {
  return {base::Code::kUnavailable,
          "the coordinator is stopping; jobs go on: try again in a moment"};
}

}  // namespace

base::Status StreamSet::Add(OpenStream* stream) {
  if (ended_) return Stopping();
  if (open_.size() >= bound_) {
    return base::Error{
        base::Code::kExhausted,
        std::to_string(bound_) + " streams are open already: close some, or try again"};
  }
  open_.insert(stream);
  return base::Ok{};
}

void StreamSet::EndAll() {
  ended_ = true;
  const std::set<OpenStream*> streams = open_;
  for (OpenStream* stream : streams) stream->End(Stopping());
}

}  // namespace trainctl::rpc
