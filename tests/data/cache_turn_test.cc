#include "worker/rank/data/cache_turn.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/data/small_tokenizers.h"
#include "worker/rank/data/dataset.h"

namespace trainctl::data {
namespace {

namespace fs = std::filesystem;

fs::path TokenFile(const std::string& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".tokens") return entry.path();
  }
  return {};
}

// Whether somebody waits for a lock on the file: the kernel lists who does behind an arrow.
bool IsAwaited(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return false;
  std::ifstream locks("/proc/locks");
  const std::string inode = ":" + std::to_string(status.st_ino) + " ";
  for (std::string line; std::getline(locks, line);) {
    if (line.find("->") != std::string::npos && line.find(inode) != std::string::npos) return true;
  }
  return false;
}

TEST(CacheTurn, WhoWaitsFindsWhatTheOtherMade) {
  const ScratchDirectory directory;
  const job::ModelShape model = WriteByteModel(directory);
  job::DataSpec data{.path = directory.Write("d.jsonl", R"({"text": "hi"})"),
                     .format = job::DataFormat::kText};
  const std::string cache = directory.path() + "/cache";
  const auto load = [&] { return LoadDataset(data, model, directory.path(), 100, cache); };
  ASSERT_TRUE(load().ok());
  const fs::path made = TokenFile(cache), aside = directory.path() + "/aside";
  fs::rename(made, aside);

  // Who has the turn here is this test.
  const std::string turn = made.string() + ".turn";
  const int fd = ::open(turn.c_str(), O_RDWR | O_CREAT, 0644);
  ASSERT_EQ(::flock(fd, LOCK_EX), 0);
  bool found = false;
  std::thread waits([&] { found = load().ok(); });
  while (!IsAwaited(turn)) std::this_thread::yield();
  fs::rename(aside, made);
  fs::remove(directory.path() + "/tokenizer.json");  // nothing can be made any more
  ::close(fd);
  waits.join();
  EXPECT_TRUE(found);
}

TEST(CacheTurn, LeavesNothingBehind) {
  const ScratchDirectory directory;
  {
    const CacheTurn turn(directory.path() + "/a"), other(directory.path() + "/b");
    EXPECT_FALSE(fs::is_empty(directory.path()));
  }
  EXPECT_TRUE(fs::is_empty(directory.path()));
  const CacheTurn nowhere("/proc/no/such/folder/a");
}

}  // namespace
}  // namespace trainctl::data
