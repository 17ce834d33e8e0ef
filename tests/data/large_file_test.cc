// A data file much larger than what may be held of it. Memory and bytes are counted, never time.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/data/small_tokenizers.h"
#include "tests/sanitized.h"
#include "worker/rank/data/dataset.h"

namespace trainctl::data {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMib = 1 << 20;
constexpr int64_t kRowBytes = 2048, kRows = 128 * 1024, kFileBytes = kRows * kRowBytes;  // 256 MiB
constexpr int64_t kMostHeld = 96 * kMib;  // by a process that reads it
constexpr int64_t kMostRead = 24 * kMib;  // by a dry run, whatever a kernel reads ahead

// The most memory of a process that does the work and ends, in bytes; −1: the work failed.
int64_t PeakOf(const std::function<bool()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work() ? 0 : 1);
  int status = 0;
  rusage usage{};
  const bool ended = child > 0 && ::wait4(child, &status, 0, &usage) == child;
  return ended && status == 0 ? usage.ru_maxrss * 1024 : -1;
}

// Of the file's bytes those that lie in the page cache.
int64_t CachedBytes(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  void* mapped = ::mmap(nullptr, kFileBytes, PROT_READ, MAP_SHARED, fd, 0);
  ::close(fd);
  if (mapped == MAP_FAILED) return -1;
  const int64_t page = ::sysconf(_SC_PAGESIZE);
  std::vector<unsigned char> pages(kFileBytes / page);
  const int counted = ::mincore(mapped, kFileBytes, pages.data());
  ::munmap(mapped, kFileBytes);
  if (counted != 0) return -1;
  return page * std::ranges::count_if(pages, [](unsigned char one) { return (one & 1) != 0; });
}

// Out of the page cache, if the file system has it on a disk.
void Forget(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  ::fdatasync(fd);
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  ::close(fd);
}

// Rows of few words and of much that is not read, in the folder where tests run.
class LargeFile : public testing::Test {
 protected:
  LargeFile() : model_(WriteByteModel(directory_)) {
    std::string name = (fs::current_path() / "large-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    data_ = {.path = folder_ + "/rows.jsonl", .format = job::DataFormat::kText};
    std::string row = R"({"text": "some words of a row", "rest": ")";
    row += std::string(static_cast<size_t>(kRowBytes) - row.size() - 3, '.') + "\"}\n";
    std::string block;
    for (int i = 0; i < 1024; ++i) block += row;
    std::ofstream file(data_.path, std::ios::binary);
    for (int64_t i = 0; i < kRows / 1024; ++i) file << block;
  }
  ~LargeFile() override { fs::remove_all(folder_); }

  // Checked in a process of its own.
  bool LoadsAll() const {
    const auto dataset = LoadDataset(data_, model_, directory_.path(), 512, folder_ + "/cache");
    return dataset.ok() && std::ssize(dataset->rows) == kRows;
  }

  const ScratchDirectory directory_;
  job::ModelShape model_;
  std::string folder_;
  job::DataSpec data_;
};

TEST_F(LargeFile, IsNeverHeldInMemory) {
  if (tests::kSanitized) GTEST_SKIP() << "a sanitizer's shadow is larger";
  ASSERT_EQ(fs::file_size(data_.path), kFileBytes);
  for (const char* load : {"first", "next"}) {
    const int64_t peak = PeakOf([this] { return LoadsAll(); });
    ASSERT_GT(peak, 0) << load;
    EXPECT_LT(peak, kMostHeld) << load;
  }
}

TEST_F(LargeFile, ADryRunReadsAFewPlacesOfIt) {
  Forget(data_.path);
  if (CachedBytes(data_.path) > kMib) GTEST_SKIP() << "the file system has no disk";
  const auto sample = LoadSample(data_, model_, directory_.path(), 512, folder_ + "/cache",
                                 {.least_bytes = kFileBytes});
  ASSERT_TRUE(sample.ok()) << sample.error().message;
  EXPECT_GT(CachedBytes(data_.path), 0);
  EXPECT_LT(CachedBytes(data_.path), kMostRead);
  EXPECT_LT(std::ssize(sample->rows), kRows / 10);
  EXPECT_NEAR(static_cast<double>(sample->sample_of), kRows, kRows / 50);
}

}  // namespace
}  // namespace trainctl::data
