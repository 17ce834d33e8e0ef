#include "server/store/commit_count.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>

#include "server/store/writer_lock.h"

namespace trainctl::store {
namespace {

constexpr int64_t kNumbers = int64_t{1} << 31;  // of SQLite's application id; then from 0 again

using Text = std::array<char, 12>;  // ten digits, a line's end

int64_t ReadNumber(int file) {
  Text text{};
  int64_t number = 0;
  if (::pread(file, text.data(), text.size() - 1, 0) <= 0) return 0;
  const char* first = std::find_if(text.data(), text.data() + 9, [](char c) { return c != '0'; });
  std::from_chars(first, text.data() + text.size(), number);
  return number;
}

}  // namespace

std::string CommitsPath(const std::string& database_path) { return database_path + "-commits"; }

base::Result<CommitCount> CommitCount::Open(Database& database) {
  CommitCount count;
  Statement statement(database, "PRAGMA application_id");
  while (statement.Next()) statement.Get(count.number_);
  if (const base::Status read = database.TakeStatus(); !read) return read.error();
  const std::string path = CommitsPath(database.path());
  count.file_ = base::Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!count.file_.open()) return CannotWrite(path, errno);
  const int64_t ahead = (ReadNumber(count.file_.get()) - count.number_ + kNumbers) % kNumbers;
  if (ahead < kNumbers / 2) count.missing_ = ahead;
  return count;
}

void CommitCount::Count(Database& database) const {
  database.Execute("PRAGMA application_id = " + std::to_string((number_ + 1) % kNumbers));
}

// A disk that has no room for it has an older number: some commits less are known to be missing.
void CommitCount::Committed() {
  number_ = (number_ + 1) % kNumbers;
  Text text{};
  const int size =
      std::snprintf(text.data(), text.size(), "%010lld\n", static_cast<long long>(number_));
  [[maybe_unused]] const ssize_t written =
      ::pwrite(file_.get(), text.data(), static_cast<size_t>(size), 0);
}

}  // namespace trainctl::store
