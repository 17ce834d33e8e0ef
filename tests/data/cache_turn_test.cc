#include "worker/rank/data/cache_turn.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

#include "tests/data/small_tokenizers.h"
#include "worker/rank/data/dataset.h"
#include "worker/rank/data/inspect.h"

namespace trainctl::data {
namespace {

namespace fs = std::filesystem;

fs::path TokenFile(const std::string& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".tokens") return entry.path();
  }
  return {};
}

// The turn, held by the test as another process would.
class Held {
 public:
  explicit Held(const std::string& path) : fd_(::open(path.c_str(), O_RDWR | O_CREAT, 0644)) {
    EXPECT_EQ(::flock(fd_, LOCK_EX), 0);
  }
  ~Held() { ::close(fd_); }
  void Name(const std::string& name) const {
    EXPECT_EQ(::pwrite(fd_, name.data(), name.size(), 8), std::ssize(name));
  }
  void Tell(int64_t done_bytes) const {
    EXPECT_EQ(::pwrite(fd_, &done_bytes, sizeof done_bytes, 0), sizeof done_bytes);
  }

 private:
  const int fd_;
};

TEST(CacheTurn, WhoWaitsFindsWhatTheOtherMade) {
  const ScratchDirectory directory;
  const job::ModelShape model = WriteByteModel(directory);
  job::DataSpec data{.path = directory.Write("d.jsonl", R"({"text": "hi"})"),
                     .format = job::DataFormat::kText};
  const std::string cache = directory.path() + "/cache";
  std::atomic<int64_t> told = 0;
  std::vector<std::string> holders;
  const auto load = [&] {
    return LoadDataset(
        data, model, directory.path(), 100, cache, [&](int64_t done, int64_t) { told = done; },
        {.waits_for = [&](const std::string& holder) { holders.push_back(holder); }});
  };
  ASSERT_TRUE(load().ok());
  const fs::path made = TokenFile(cache), aside = directory.path() + "/aside";
  fs::rename(made, aside);

  bool found = false;
  std::thread waits;
  {
    const Held held(made.string() + ".turn");
    waits = std::thread([&] { found = load().ok(); });
    constexpr int64_t kDone = 5 << 20;
    held.Name("j7 (process 12)");
    held.Tell(kDone);
    while (told < kDone) std::this_thread::yield();  // so it waits, and tells what the holder does
    held.Tell(2 * kDone);
    while (told < 2 * kDone) std::this_thread::yield();
    fs::rename(aside, made);
    fs::remove(directory.path() + "/tokenizer.json");  // nothing can be made any more
  }
  waits.join();
  EXPECT_TRUE(found);
  EXPECT_THAT(holders, testing::ElementsAre("j7 (process 12)"));
}

TEST(CacheTurn, WhoWaitsIsToldForWhomOnce) {
  const ScratchDirectory directory;
  const std::string path = directory.path() + "/a";
  std::vector<std::string> holders;
  const auto wait = [&] {
    const CacheTurn waiting(
        path, {},
        {.waits_for = [&](const std::string& holder) { holders.push_back(holder); },
         .patience = {.poll_ms = 1, .standstill_ms = 20}});
  };
  {
    const Held died(path + ".turn");  // and left its name
    died.Name("j6 (process 11, of a long time ago)");
    died.Tell(7);
  }
  {
    const CacheTurn turn(path, {}, {.name = "j7 (process 12)"});
    wait();
  }
  wait();  // nobody has it
  EXPECT_THAT(holders, testing::ElementsAre("j7 (process 12)"));
  const Held nameless(path + ".turn");
  wait();
  EXPECT_THAT(holders, testing::ElementsAre("j7 (process 12)", "another process"));
}

// Such as one that is stopped: its lock stays for as long as it lives.
TEST(CacheTurn, AHolderThatStandsStillIsNotWaitedFor) {
  const ScratchDirectory directory;
  const std::string path = directory.path() + "/a";
  const Held held(path + ".turn");
  held.Tell(7);
  std::vector<int64_t> told;
  const CacheTurn turn(path, [&](int64_t done) { told.push_back(done); },
                       {.patience = {.poll_ms = 1, .standstill_ms = 20}});
  EXPECT_THAT(told, testing::ElementsAre(7));
  turn.Tell(8);  // nobody's turn: the holder's word stays
  CacheTurn again(path, [&](int64_t done) { told.push_back(done); },
                  {.patience = {.poll_ms = 1, .standstill_ms = 20}});
  EXPECT_THAT(told, testing::ElementsAre(7, 7));
}

// It has its answer in a few seconds, or says for whom it waits.
TEST(CacheTurn, AnInspectionDoesNotWaitForAHolderThatStands) {
  const ScratchDirectory directory;
  const job::ModelShape model = WriteByteModel(directory);
  job::DataSpec data{.path = directory.Write("d.jsonl", R"({"text": "hi"})"),
                     .format = job::DataFormat::kText};
  const std::string cache = directory.path() + "/cache";
  std::vector<std::string> holders;
  const auto look = [&] {
    return LoadSample(data, model, directory.path(), 100, cache, {},
                      [&](const std::string& holder) { holders.push_back(holder); });
  };
  ASSERT_TRUE(look().ok());
  EXPECT_THAT(holders, testing::IsEmpty());
  const fs::path made = TokenFile(cache);
  fs::remove(made);
  const Held held(made.string() + ".turn");
  held.Name("j7 (process 12)");
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(look()->rows.size(), 1u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  EXPECT_THAT(holders, testing::ElementsAre("j7 (process 12)"));
}

TEST(CacheTurn, AnInspectionThatWaitedSaysSo) {
  const ScratchDirectory directory;
  WriteByteModel(directory);
  job::JobSpec job;
  job.model = {.path = directory.path(), .init = job::ModelInit::kRandom};
  job.data = {.path = directory.Write("d.jsonl", R"({"text": "hi"})"),
              .format = job::DataFormat::kText};
  const CacheFolders folders{.tokens = directory.path() + "/cache"};
  const auto first = Inspect(job, folders);
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(first->waited_for, "");
  const fs::path made = TokenFile(folders.tokens);
  fs::remove(made);
  const Held frozen(made.string() + ".turn");
  frozen.Name("j7 (process 12)");
  std::string noticed;
  const auto looked = Inspect(job, folders, [&](const std::string& holder) { noticed = holder; });
  ASSERT_TRUE(looked.ok()) << looked.error().message;
  EXPECT_EQ(looked->rows, 1);
  EXPECT_EQ(looked->waited_for, "j7 (process 12)");
  EXPECT_EQ(noticed, "j7 (process 12)") << "while it waits";
}

TEST(CacheTurn, LeavesNothingBehind) {
  const ScratchDirectory directory;
  {
    const CacheTurn turn(directory.path() + "/a", {}), other(directory.path() + "/b", {});
    EXPECT_FALSE(fs::is_empty(directory.path()));
  }
  EXPECT_TRUE(fs::is_empty(directory.path()));
  const CacheTurn nowhere("/proc/no/such/folder/a", {});
}

}  // namespace
}  // namespace trainctl::data
