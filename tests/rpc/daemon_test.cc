// Where a coordinator may not start.
#include "server/daemon/daemon.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "server/auth/listen_address.h"
#include "tests/rpc/fake_worker.h"
#include "tests/rpc/test_site.h"

namespace trainctl::rpc_test {
namespace {

TEST(ListenAddress, OnlyLoopbackIsAccepted) {
  for (const char* text : {"127.0.0.1:0", "127.9.9.9:80", "localhost:7070", "[::1]:7070"}) {
    EXPECT_TRUE(auth::ParseListenAddress(text).ok()) << text;
  }
  for (const char* text :
       {"0.0.0.0:7070", "[::]:7070", "192.168.0.1:7070", "example.org:80", "127.0.0.1",
        "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:70x", ":7070", ""}) {
    EXPECT_FALSE(auth::ParseListenAddress(text).ok()) << text;
  }
  EXPECT_NE(auth::ParseListenAddress("0.0.0.0:7070").error().message.find("TLS"),
            std::string::npos);
  EXPECT_EQ(auth::ToString(*auth::ParseListenAddress("[::1]:7070")), "[::1]:7070");
}

// Of a job that runs there.
void HaveLogs(TestSite& site, FakeWorker& worker) {
  worker.Connect(site.channel());
  site.Submit("logs");
  const job::RankKey rank = worker.Start();
  worker.Log(rank, 0, "one\n");
  worker.WaitForLogAck(rank, 4);
}

coordinator::Options OptionsOf(const std::string& directory) {
  coordinator::Options options;
  options.listen = "127.0.0.1:0";
  options.directory = directory;
  return options;
}

TEST(Daemon, ASecondOneOnTheSameFolderIsRefused) {
  TestSite site;
  const base::SystemClock clock;
  QuietLog log;
  const coordinator::Options options = OptionsOf(site.directory());
  const auto second = coordinator::Daemon::Start(options, clock, log);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, base::Code::kConflict);
}

TEST(Daemon, AnEmptiedDatabaseIsNoNewSite) {
  TestSite site;
  FakeWorker worker("a/0");
  HaveLogs(site, worker);
  site.Stop();
  worker.Disconnect();
  const std::string database = site.directory() + "/coordinator.db";
  std::filesystem::rename(database, database + ".kept");
  const base::SystemClock clock;
  QuietLog log;
  const coordinator::Options options = OptionsOf(site.directory());
  for (const bool is_there : {false, true}) {
    if (is_there) std::ofstream(database).close();
    const auto started = coordinator::Daemon::Start(options, clock, log);
    ASSERT_FALSE(started.ok()) << is_there;
    EXPECT_NE(started.error().message.find("missing or empty"), std::string::npos);
  }
  std::filesystem::rename(database + ".kept", database);
  site.Start();
}

// All that it had was in the log, and SQLite takes what is left for a new database.
TEST(Daemon, ADatabaseWhoseLogWasRemovedIsNoNewSite) {
  TestSite site;
  FakeWorker worker("a/0");
  HaveLogs(site, worker);
  const TemporaryFolder folder;
  std::filesystem::copy(site.directory() + "/logs", folder.path() + "/logs",
                        std::filesystem::copy_options::recursive);
  std::filesystem::copy(site.directory() + "/coordinator.db", folder.path());
  const base::SystemClock clock;
  QuietLog log;
  const coordinator::Options options = OptionsOf(folder.path());
  for (const char* start : {"first", "second"}) {
    const auto started = coordinator::Daemon::Start(options, clock, log);
    ASSERT_FALSE(started.ok()) << start;
    EXPECT_EQ(started.error().code, base::Code::kConflict);
    for (const char* words :
         {"coordinator.db has no tables", "coordinator.db-wal, which is missing",
          "traincoordinator restore --from COPY --dir "})
      EXPECT_NE(started.error().message.find(words), std::string::npos) << started.error().message;
  }
  std::filesystem::remove_all(folder.path() + "/logs");
  EXPECT_TRUE(coordinator::Daemon::Start(options, clock, log).ok())
      << "nothing says that it had jobs";
}

TEST(Daemon, ATakenPortIsRefused) {
  TestSite site;
  const TemporaryFolder folder;
  const base::SystemClock clock;
  QuietLog log;
  coordinator::Options options = OptionsOf(folder.path());
  options.listen = site.address();
  const auto second = coordinator::Daemon::Start(options, clock, log);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, base::Code::kConflict);
}

}  // namespace
}  // namespace trainctl::rpc_test
