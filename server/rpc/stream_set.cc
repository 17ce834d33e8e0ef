#include "server/rpc/stream_set.h"

namespace trainctl::rpc {
namespace {

base::Error Stopping() {
  return {base::Code::kUnavailable,
          "the coordinator is stopping; jobs go on: try again in a moment"};
}

}  // namespace

base::Status StreamSet::Add(OpenStream* stream, const std::string& user, int64_t token) {
  if (ended_) return Stopping();
  if (open_.size() >= bounds_.all) {
    return base::Error{
        base::Code::kExhausted,
        std::to_string(bounds_.all) + " streams are open already: close some, or try again"};
  }
  const auto of_user = of_user_.find(user);
  if (of_user != of_user_.end() && of_user->second >= bounds_.of_user) {
    return base::Error{base::Code::kExhausted,
                       user + " has " + std::to_string(bounds_.of_user) +
                           " streams open already, and may not have more (traincoordinator "
                           "--user-streams): end programs that watch or follow jobs"};
  }
  open_.emplace(stream, Owner{user, token});
  ++of_user_[user];
  return base::Ok{};
}

void StreamSet::Remove(OpenStream* stream) {
  const auto found = open_.find(stream);
  if (found == open_.end()) return;
  const auto of_user = of_user_.find(found->second.user);
  if (--of_user->second == 0) of_user_.erase(of_user);
  open_.erase(found);
}

void StreamSet::EndOf(int64_t token, const base::Error& reason) {
  const std::map<OpenStream*, Owner> streams = open_;
  for (const auto& [stream, owner] : streams) {
    if (owner.token == token) stream->End(reason);
  }
}

int64_t StreamSet::EndOfUser(const std::string& user, const base::Error& reason) {
  const std::map<OpenStream*, Owner> streams = open_;
  int64_t ended = 0;
  for (const auto& [stream, owner] : streams) {
    if (owner.user != user) continue;
    stream->End(reason);
    ++ended;
  }
  return ended;
}

void StreamSet::EndAll() {
  ended_ = true;
  const std::map<OpenStream*, Owner> streams = open_;
  for (const auto& [stream, owner] : streams) stream->End(Stopping());
}

}  // namespace trainctl::rpc
