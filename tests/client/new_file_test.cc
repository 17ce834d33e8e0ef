// Files that verbs write: whole, and nobody's is replaced unasked.
#include "client/new_file.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "common/base/file.h"
#include "tests/client/scratch_folder.h"

namespace trainctl::client {
namespace {

namespace fs = std::filesystem;

constexpr size_t kWriters = 8;

std::string ContentOf(size_t writer) {
  return std::string(100'000, static_cast<char>('a' + writer));
}

// What each of the writers of one file at once is told.
std::vector<base::Status> WriteAtOnce(const std::string& file, bool overwrite) {
  std::vector<base::Status> told(kWriters, base::Ok{});
  std::atomic<size_t> ready = 0;
  std::vector<std::jthread> writers;
  for (size_t i = 0; i < kWriters; ++i) {
    writers.emplace_back([&, i] {
      ++ready;
      while (ready < kWriters) std::this_thread::yield();
      told[i] = WriteNewFile(file, ContentOf(i), overwrite);
    });
  }
  writers.clear();
  return told;
}

TEST(NewFile, OfWritersAtOnceOneWritesItAndTheOthersAreToldThatItIsThere) {
  const ScratchFolder folder;
  const std::string file = folder / "report.html";
  const auto told = WriteAtOnce(file, /*overwrite=*/false);
  std::string content;
  size_t written = 0;
  for (size_t i = 0; i < kWriters; ++i) {
    if (told[i].ok()) {
      content = ContentOf(i);
      ++written;
    } else {
      EXPECT_EQ(told[i].error().code, base::Code::kConflict);
    }
  }
  EXPECT_EQ(written, 1u);
  EXPECT_TRUE(folder.Read("report.html") == content);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1) << "nothing is left";
}

TEST(NewFile, OfWritersAtOnceThatMayReplaceItTheLastOnesIsWhole) {
  const ScratchFolder folder;
  const std::string file = folder.Write("report.html", "old");
  for (const base::Status& told : WriteAtOnce(file, /*overwrite=*/true)) EXPECT_TRUE(told.ok());
  const std::string content = folder.Read("report.html");
  ASSERT_FALSE(content.empty());
  EXPECT_TRUE(content == ContentOf(static_cast<size_t>(content.front() - 'a')));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1) << "nothing is left";
}

TEST(NewFile, ALinkThatLeadsNowhereIsNotReplaced) {
  const ScratchFolder folder;
  fs::create_symlink("nowhere", folder / "report.html");
  const base::Status told = WriteNewFile(folder / "report.html", "new", /*overwrite=*/false);
  ASSERT_FALSE(told.ok());
  EXPECT_EQ(told.error().code, base::Code::kConflict);
  EXPECT_TRUE(fs::is_symlink(folder / "report.html"));
}

}  // namespace
}  // namespace trainctl::client
