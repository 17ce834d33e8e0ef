// Tokens as they are made, one behind the other. The first kTokensInMemory stay there. Of more all
// go to a nameless file of the cache folder: a data file of any size is never held. Where nothing
// can be written they stay in memory. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "worker/rank/data/token_store.h"

namespace trainctl::data {

inline constexpr int64_t kTokensInMemory = int64_t{16} << 20;  // 64 MiB

class TokenSpool {
 public:
  // folder: "": tokens stay in memory.
  explicit TokenSpool(std::string folder = "", int64_t tokens_in_memory = kTokensInMemory)
      : folder_(std::move(folder)), most_in_memory_(tokens_in_memory) {}
  TokenSpool(TokenSpool&& other) noexcept;
  TokenSpool& operator=(TokenSpool&&) = delete;
  ~TokenSpool();

  void Append(std::span<const int32_t> ids);
  int64_t size() const { return written_ + std::ssize(rest_); }
  // All of them; nothing is left.
  TokenStore Take();

 private:
  void Write();
  bool OpenFile();
  // Nothing more can be written: all is in memory again.
  void ReadBack();

  std::string folder_;
  int64_t most_in_memory_;
  int fd_ = -1;
  int64_t written_ = 0;        // tokens in the file
  std::vector<int32_t> rest_;  // behind them
};

}  // namespace trainctl::data
