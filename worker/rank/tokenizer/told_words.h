// How far the encoding of a long text is. A text is normalized and cut into words as a whole, of
// which nothing is told; its words are then encoded one after the other.
#pragma once

#include <algorithm>
#include <cstddef>

#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::data {

// Of a part of the text, whose bytes from `begin` on have become word_bytes of words.
class ToldWords {
 public:
  ToldWords(const EncodeProgress& progress, size_t begin, size_t bytes, size_t word_bytes)
      : progress_(progress), begin_(begin), bytes_(bytes), word_bytes_(word_bytes) {}

  // Words of so many bytes more.
  void Add(size_t word_bytes) {
    if (!progress_) return;
    done_ = std::min(done_ + word_bytes, word_bytes_);
    const double share = static_cast<double>(done_) / static_cast<double>(word_bytes_);
    progress_(begin_ + static_cast<size_t>(share * static_cast<double>(bytes_)));
  }

 private:
  const EncodeProgress& progress_;
  const size_t begin_, bytes_, word_bytes_;
  size_t done_ = 0;
};

}  // namespace trainctl::data
