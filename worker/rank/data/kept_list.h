// A list that is made in memory, or lies in a mapped file as it is.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "worker/rank/files/mapped_file.h"

namespace trainctl::data {

// Reads as a vector does. Of one in a file nothing is changed, and its pages are the kernel's.
template <class T>
class KeptList {
 public:
  KeptList() = default;
  KeptList(std::vector<T> made) : made_(std::move(made)) {}  // NOLINT: is one
  KeptList(std::initializer_list<T> made) : made_(made) {}
  // items lie within the file.
  KeptList(std::shared_ptr<const files::MappedFile> file, std::span<const T> items)
      : file_(std::move(file)), mapped_(items) {}

  std::span<const T> all() const { return file_ ? mapped_ : std::span<const T>(made_); }
  const T* data() const { return all().data(); }
  size_t size() const { return all().size(); }
  bool empty() const { return all().empty(); }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }
  const T& operator[](size_t index) const { return all()[index]; }
  const T& at(size_t index) const {
    CHECK(index < size()) << index << " of " << size();
    return all()[index];
  }
  const T& back() const { return all().back(); }

  // Of a list in memory.
  T& Change(size_t index) { return Made().at(index); }
  void push_back(const T& item) { Made().push_back(item); }
  void resize(size_t size) { Made().resize(size); }

 private:
  std::vector<T>& Made() {
    CHECK(file_ == nullptr);
    return made_;
  }

  std::vector<T> made_;
  std::shared_ptr<const files::MappedFile> file_;  // null: made_ is all
  std::span<const T> mapped_;
};

}  // namespace trainctl::data
