// What an offloaded optimizer takes of the host: threads, CPUs, memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <limits>

#include "worker/rank/optim/host_block.h"
#include "worker/rank/optim/host_memory.h"
#include "worker/rank/optim/tile_pool.h"

namespace trainctl::optim {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kGiB = int64_t{1} << 30;

TEST(TilePool, EveryElementIsVisitedOnceByWhicheverThread) {
  TilePool pool(3);
  std::vector<std::atomic<int>> visits(5 * TilePool::kTile + 17);
  std::vector<TilePool::Ticket> tickets;
  for (int round = 0; round < 4; ++round) {
    tickets.push_back(
        pool.Submit(static_cast<int64_t>(visits.size()), [&](int64_t begin, int64_t end) {
          EXPECT_EQ(begin % TilePool::kTile, 0);
          for (int64_t i = begin; i < end; ++i) ++visits[i];
        }));
  }
  for (const TilePool::Ticket& ticket : tickets) pool.Wait(ticket);
  for (const std::atomic<int>& count : visits) ASSERT_EQ(count, 4);
}

TEST(TilePool, NothingToDoIsDoneAtOnce) {
  TilePool pool(1);
  pool.Wait(pool.Submit(0, [](int64_t, int64_t) { FAIL(); }));
}

class HostMemoryTest : public ::testing::Test {
 protected:
  HostMemoryTest()
      : folder_(fs::temp_directory_path() / ("host_memory_test." + std::to_string(getpid()))) {
    files_ = {folder_ / "proc", folder_ / "cgroup"};
    Write("proc/meminfo",
          "MemTotal: 67108864 kB\nMemFree: 1 kB\nMemAvailable: 33554432 kB\n");  // 32 GiB
  }
  ~HostMemoryTest() override { fs::remove_all(folder_); }

  void Write(const std::string& path, const std::string& text) {
    fs::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << text;
  }

  fs::path folder_;
  MemoryFiles files_;
};

TEST_F(HostMemoryTest, WithoutACgroupItIsWhatTheHostHasLeft) {
  EXPECT_EQ(AvailableHostMemory(files_).bytes, 32 * kGiB);
  Write("cgroup/memory.max", "max\n");
  Write("cgroup/memory.current", "123\n");
  EXPECT_EQ(AvailableHostMemory(files_).bytes, 32 * kGiB);
}

TEST_F(HostMemoryTest, TheTightestLimitAboveTheProcessCountsAndPagesOfFilesAreFree) {
  Write("proc/self/cgroup", "0::/jobs/one\n");
  Write("cgroup/jobs/one/memory.max", std::to_string(20 * kGiB));
  Write("cgroup/jobs/one/memory.current", std::to_string(5 * kGiB));
  EXPECT_EQ(AvailableHostMemory(files_).bytes, 15 * kGiB);
  Write("cgroup/jobs/memory.max", std::to_string(10 * kGiB));
  Write("cgroup/jobs/memory.current", std::to_string(9 * kGiB));
  Write("cgroup/jobs/memory.stat", "anon 1\ninactive_file " + std::to_string(2 * kGiB) +
                                       "\nactive_file " + std::to_string(kGiB) + "\n");
  EXPECT_EQ(AvailableHostMemory(files_).bytes, 4 * kGiB);
  EXPECT_THAT(AvailableHostMemory(files_).bound, HasSubstr("/jobs/memory.max"));
}

TEST_F(HostMemoryTest, VersionOneIsReadToo) {
  Write("proc/self/cgroup", "5:cpu:/\n4:hugetlb,memory:/slot\n");
  Write("cgroup/memory/slot/memory.limit_in_bytes", std::to_string(8 * kGiB));
  Write("cgroup/memory/slot/memory.usage_in_bytes", std::to_string(3 * kGiB));
  Write("cgroup/memory/slot/memory.stat", "total_inactive_file " + std::to_string(kGiB) + "\n");
  EXPECT_EQ(AvailableHostMemory(files_).bytes, 6 * kGiB);
}

TEST_F(HostMemoryTest, TooMuchIsRefusedWithBothNumbers) {
  EXPECT_NO_THROW(RequireHostMemory(31 * kGiB, "a state", files_));
  try {
    RequireHostMemory(32 * kGiB, "a state", files_);
    FAIL() << "32 GiB of 32 GiB leave nothing";
  } catch (const HostMemoryError& error) {
    EXPECT_THAT(error.what(), HasSubstr("a state needs 32.00 GiB"));
    EXPECT_THAT(error.what(),
                HasSubstr(std::to_string(32 * kGiB) + " bytes, by the host's available memory"));
  }
}

TEST(HostBlock, HoldsZerosAndRefusesMoreThanThereIs) {
  const HostBlock block(1'000'003, at::kCPU, /*pinned=*/false, "a test");
  const char* bytes = static_cast<const char*>(block.data());
  EXPECT_EQ(std::count(bytes, bytes + 1'000'003, 0), 1'000'003);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes) % 4096, 0u);
  EXPECT_THROW(HostBlock(int64_t{1} << 60, at::kCPU, false, "a test"), HostMemoryError);
}

}  // namespace
}  // namespace trainctl::optim
