// The coordinator's host loses its power while the store writes. What the disk was not told to
// keep is gone, or torn; what was acknowledged is there, and nothing is there by half.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "server/store/commit_count.h"
#include "server/store/sqlite_store.h"
#include "tests/sanitized.h"
#include "tests/server/crashing_disk.h"
#include "tests/server/describe.h"
#include "tests/server/simulation/sim_cluster.h"
#include "tests/server/temporary_folder.h"

namespace trainctl::store {
namespace {

namespace fs = std::filesystem;

constexpr int kSteps = tests::kSanitized ? 750 : 3000;
constexpr int kLeastCrashes = kSteps / 30;    // a commit is of several events
constexpr uint64_t kCrashesOfAThousand = 30;  // writes and syncs

class HostCrash : public testing::Test {
 protected:
  HostCrash() {
    disk_.BeforeEach([this] {
      if (may_crash_ && random_() % 1000 < kCrashesOfAThousand) Crash();
    });
  }

  // Leaves a folder as it is found when the host is there again.
  void Crash() {
    const std::string folder = folder_.path() + "/crash" + std::to_string(crashes_.size());
    fs::create_directory(folder);
    const uint64_t percent_kept = random_() % 3 * 50;  // nothing that was not synced, half, all
    disk_.CrashInto(Live(), folder, percent_kept, random_);
    fs::copy_file(CommitsPath(DatabasePath(Live())), CommitsPath(DatabasePath(folder)));
    crashes_.push_back(folder);
  }

  std::string Live() const { return folder_.path() + "/live"; }

  static std::string Restored(const std::string& folder) {
    auto store = OpenSqliteStore(folder);
    if (!store) return store.error().message;
    const auto state = (*store)->LoadState();
    return state ? core::Describe(*state) : state.error().message;
  }

  // After all crashes since it was asked last, the one or the other is there.
  void ExpectAfterCrashes(const std::string& before, const std::string& after) {
    for (const std::string& folder : std::exchange(crashes_, {})) {
      const std::string restored = Restored(folder);
      EXPECT_TRUE(restored == before || restored == after) << "crash " << checked_ << " left\n"
                                                           << restored << "\nin place of\n"
                                                           << after;
      ++checked_;
      fs::remove_all(folder);
    }
  }

  TemporaryFolder folder_;
  CrashingDisk disk_;
  std::mt19937_64 random_{5};
  std::vector<std::string> crashes_;
  bool may_crash_ = false;
  int checked_ = 0;
};

TEST_F(HostCrash, KeepsWhatWasAcknowledgedAndNothingByHalf) {
  auto store = OpenSqliteStore(Live()).value();
  core::Ledger ledger;
  std::string before = core::Describe(ledger.LoadState());
  const auto committed = [&](const Batch& batch) {
    ledger.Apply(batch.rows);
    const std::string after = core::Describe(ledger.LoadState());
    may_crash_ = true;
    const base::Status status = store->Apply({batch.rows, {}});
    may_crash_ = false;
    ASSERT_TRUE(status.ok()) << status.error().message;
    ExpectAfterCrashes(before, after);
    if (random_() % 10 == 0) Crash();
    ExpectAfterCrashes(after, after);
    before = after;
  };
  core::SimCluster cluster(11, {.keeps_power = true, .committed = committed});
  for (int step = 1; step <= kSteps && !HasFailure(); ++step) cluster.Disturb(step);
  EXPECT_GE(checked_, kLeastCrashes);
}

}  // namespace
}  // namespace trainctl::store
