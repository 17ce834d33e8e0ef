// Of processes that would make the same tokens at the same time, one does: the ranks of a host
// begin together, and the others find in the cache what it made.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace trainctl::data {

struct TurnPatience {
  int64_t poll_ms = 100;
  // A holder that has not told of progress for so long has stopped: nobody waits for it.
  int64_t standstill_ms = 60'000;
};

// Of who is asked for an answer in a few seconds: it rather makes the tokens twice.
inline constexpr TurnPatience kHurried = {.standstill_ms = 2'000};

// Called once, as soon as another's turn makes this process wait: that one's name, of this host.
using WaitsFor = std::function<void(const std::string& holder)>;

// What those who wait for a turn are told, and how long they wait.
struct TurnTalk {
  std::string name = {};  // of this process while it has the turn: "j12 (process 345)"
  WaitsFor waits_for = {};
  TurnPatience patience = {};
};

// A turn at making a file, from the constructor, which waits for who has it, to the destructor.
// Where no lock can be had it waits for nobody. Not thread-safe.
class CacheTurn {
 public:
  // Bytes that are done.
  using Progress = std::function<void(int64_t done_bytes)>;

  // Locks "<path>.turn", and removes it in the end. While it waits it tells what the holder tells.
  CacheTurn(const std::string& path, const Progress& waits, const TurnTalk& talk = {});
  ~CacheTurn();
  CacheTurn(const CacheTurn&) = delete;

  // Tells those who wait, through the locked file.
  void Tell(int64_t done_bytes) const;

 private:
  void TellName(const std::string& name) const;

  const std::string path_;
  int fd_ = -1;
};

}  // namespace trainctl::data
