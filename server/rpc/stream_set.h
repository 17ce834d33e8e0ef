// The calls that stay open, so that their number is bounded and all end at once when the
// coordinator stops. The loop's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

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
  struct Bounds {
    size_t all;
    size_t of_user;
  };
  explicit StreamSet(const Bounds& bounds) : bounds_(bounds) {}

  // kExhausted: too many are open, or too many of this user's. kUnavailable: after EndAll.
  // `token`: by which it is open; 0: by none.
  base::Status Add(OpenStream* stream, const std::string& user, int64_t token = 0);
  void Remove(OpenStream* stream);
  // Ends those that are open by this token.
  void EndOf(int64_t token, const base::Error& reason);
  // Ends this user's, and tells how many those were.
  int64_t EndOfUser(const std::string& user, const base::Error& reason);
  // Ends all with kUnavailable, and whatever is added later.
  void EndAll();
  size_t size() const { return open_.size(); }

 private:
  struct Owner {
    std::string user;
    int64_t token = 0;
  };

  const Bounds bounds_;
  bool ended_ = false;
  std::map<OpenStream*, Owner> open_;
  std::map<std::string, size_t> of_user_;  // none is 0
};

}  // namespace trainctl::rpc
