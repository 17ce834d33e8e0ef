// The calls that stay open, so that their number is bounded and all end at once when the
// coordinator stops. The loop's thread only.
#pragma once

#include <cstddef>
#include <set>

#include "common/base/result.h"

namespace trainctl::rpc {

class OpenStream {
 public:
  virtual ~OpenStream() = default;
  // Ends the call for the client with this error; it may be told so only later. Idempotent.
  virtual void End(const base::Error& reason) = 0;
};

class StreamSet {
 public:
  explicit StreamSet(size_t bound) : bound_(bound) {}

  // kExhausted: too many are open. kUnavailable: after EndAll.
  base::Status Add(OpenStream* stream);
  void Remove(OpenStream* stream) { open_.erase(stream); }
  // Ends all with kUnavailable, and whatever is added later.
  void EndAll();
  size_t size() const { return open_.size(); }

 private:
  size_t bound_;
  bool ended_ = false;
  std::set<OpenStream*> open_;
};

}  // namespace trainctl::rpc
