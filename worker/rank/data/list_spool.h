// A list that is made item by item. What is beyond kMostItems goes to a nameless file of a folder,
// as tokens do (token_spool.h). Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "worker/rank/data/kept_list.h"
#include "worker/rank/data/token_spool.h"

namespace trainctl::data {

template <class T>
class ListSpool {
 public:
  static constexpr size_t kMostItems = 1 << 20;  // in memory

  // folder: "", or one that can't be written or is full: all stay in memory.
  explicit ListSpool(std::string folder = "") : folder_(std::move(folder)) {}

  // Errors: those of SpoolFile::Map. Nothing more is taken then.
  base::Status Append(const T& item) { return Append(std::span(&item, 1)); }

  base::Status Append(std::span<const T> items) {
    rest_.insert(rest_.end(), items.begin(), items.end());
    if (rest_.size() < kMostItems || folder_.empty()) return base::Ok{};
    if (!file_.is_open() && !file_.Open(folder_)) return GiveUp();
    return Write();
  }

  int64_t size() const { return written_ + std::ssize(rest_); }

  // All of them; nothing is left. Errors: those of Append.
  base::Result<KeptList<T>> Take() {
    if (file_.is_open()) {
      if (auto wrote = Write(); !wrote) return wrote.error();
    }
    if (!file_.is_open()) return KeptList<T>(std::exchange(rest_, {}));
    auto map = file_.Map();
    if (!map) return map.error();
    const auto file = std::make_shared<const files::MappedFile>(std::move(*map));
    const auto* items = reinterpret_cast<const T*>(file->bytes().data() + SpoolFile::kHeadBytes);
    const auto count = static_cast<size_t>(std::exchange(written_, 0));
    file_ = SpoolFile();
    return KeptList<T>(file, std::span(items, count));
  }

 private:
  base::Status Write() {
    if (!file_.Append(std::as_bytes(std::span(rest_)))) return GiveUp();
    written_ += std::ssize(rest_);
    rest_.clear();
    return base::Ok{};
  }

  // There is no file: all is in memory again.
  base::Status GiveUp() {
    if (written_ > 0) {
      auto map = file_.Map();
      if (!map) return map.error();
      const auto* items = reinterpret_cast<const T*>(map->bytes().data() + SpoolFile::kHeadBytes);
      rest_.insert(rest_.begin(), items, items + written_);
    }
    written_ = 0;
    file_ = SpoolFile();
    folder_.clear();
    return base::Ok{};
  }

  std::string folder_;
  SpoolFile file_;
  int64_t written_ = 0;  // items in the file
  std::vector<T> rest_;  // behind them
};

}  // namespace trainctl::data
