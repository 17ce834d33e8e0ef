// The calls that wait for their answer, and what their requests hold: bounded for all callers
// together and for each. Room for a request is taken before it is read, as for the largest, and
// shrinks to what came. Where there is none the call waits, its request unread. Whoever holds least
// is next, so that nobody's requests keep out others'. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "common/base/result.h"

namespace trainctl::rpc {

class RequestBudget {
 public:
  static constexpr int64_t kLargest = 16 << 20;  // bytes of one request

  struct Bounds {
    size_t calls = 512;
    size_t calls_of_user = 128;
    int64_t bytes = 16 * kLargest;
    int64_t bytes_of_user = 4 * kLargest;
  };
  using Call = uint64_t;

  explicit RequestBudget(const Bounds& bounds) : bounds_(bounds) {}

  // kExhausted: as many calls are open as may be, or as may be of this user.
  base::Result<Call> Enter(const std::string& user);
  // Once, of a call that has entered. `ready` is called when there is room, by whoever makes it.
  void Reserve(Call call, std::function<void()> ready);
  // Its request came and has so many bytes.
  void Shrink(Call call, int64_t bytes);
  // true: it waited for room, and `ready` is not called any more.
  bool Withdraw(Call call);
  // It has ended.
  void Leave(Call call);

  int64_t bytes() const;  // that are taken now

 private:
  struct Entry {
    std::string user;
    int64_t bytes = 0;
    std::function<void()> ready;  // set: it waits
  };
  struct OfUser {
    size_t calls = 0;
    int64_t bytes = 0;
    std::map<Call, Entry*> waiting;  // in order of their coming
  };
  using Ready = std::vector<std::function<void()>>;

  // The calls that have room now; to be called without the lock.
  Ready TakeReady();
  OfUser* NextUser();
  void Give(Entry* entry, int64_t bytes);

  const Bounds bounds_;
  mutable std::mutex mutex_;
  Call last_ = 0;
  int64_t bytes_ = 0;
  std::map<Call, Entry> calls_;
  std::map<std::string, OfUser> users_;  // those with calls
};

}  // namespace trainctl::rpc
