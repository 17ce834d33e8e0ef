// Backups of a site that goes on, asked for as trainctl asks, and a site that begins with one.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "server/daemon/restore_site.h"
#include "tests/rpc/fake_worker.h"
#include "tests/rpc/test_site.h"
#include "tests/rpc/training_job.h"

namespace trainctl::rpc_test {
namespace {

using Stub = v1::Coordinator::Stub;

grpc::Status BackUp(TestSite& site, const std::string& path, v1::BackupResponse* response) {
  v1::BackupRequest request;
  request.set_path(path);
  return site.Call(&Stub::Backup, request, response);
}

TEST(Backup, IsNoneOfADatabaseThatWasMovedAwayOrReplaced) {
  TestSite site;
  const std::string database = site.directory() + "/coordinator.db";
  const std::string file = site.directory() + "/copy.db";
  v1::BackupResponse response;
  std::filesystem::rename(database, database + ".kept");
  for (const char* why : {"was moved away or removed", "was replaced"}) {
    const grpc::Status made = BackUp(site, file, &response);
    EXPECT_NE(made.error_message().find(why), std::string::npos) << made.error_message();
    std::filesystem::copy_file(database + ".kept", database,
                               std::filesystem::copy_options::skip_existing);
  }
  std::filesystem::rename(database + ".kept", database);
  EXPECT_TRUE(BackUp(site, file, &response).ok());
}

TEST(Backup, IsWrittenWhileJobsAreSubmittedAndAudited) {
  TestSite site;
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/site.db";
  std::atomic<int> submitted = 0;
  std::atomic<bool> ends = false;
  std::thread client([&] {
    while (!ends) {
      site.Submit("job" + std::to_string(submitted));
      ++submitted;
    }
  });
  while (submitted < 20) std::this_thread::yield();
  v1::BackupResponse response;
  const int before = submitted;
  const grpc::Status made = BackUp(site, file, &response);
  const int after = submitted;
  while (submitted < after + 20) std::this_thread::yield();  // nothing of it is left in their way
  ends = true;
  client.join();
  ASSERT_TRUE(made.ok()) << made.error_message();
  EXPECT_GE(response.jobs(), before);
  EXPECT_LE(response.jobs(), after + 1);
  EXPECT_EQ(response.bytes(), static_cast<int64_t>(std::filesystem::file_size(file)));
  EXPECT_EQ(BackUp(site, file, &response).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  v1::AuditRequest asked;
  asked.set_limit(1000);
  v1::AuditResponse audit;
  ASSERT_TRUE(site.Call(&Stub::Audit, asked, &audit).ok());
  std::vector<std::string> verdicts;
  for (const v1::AuditEntry& entry : audit.entries()) {
    if (entry.action() == "backup" && entry.subject() == file)
      verdicts.push_back(entry.verdict().substr(0, 8));
  }
  EXPECT_EQ(verdicts, (std::vector<std::string>{"refused:", "accepted"}));
}

TEST(Backup, OfARestoredSiteRanksThatStillRunAreStoppedAndNumbersAreNew) {
  TestSite site;
  const TemporaryFolder folder;
  FakeWorker worker("a/0");
  const auto [job, rank] = Train(site, worker, "survivor");
  worker.WaitForAck(rank, 2);
  const std::string waiting = site.Submit("waiting");
  v1::BackupResponse response;
  ASSERT_TRUE(BackUp(site, folder.path() + "/site.db", &response).ok());
  const std::string later = site.Submit("later");
  site.Stop();
  worker.Disconnect();

  std::filesystem::rename(site.directory() + "/coordinator.db", folder.path() + "/lost.db");
  const base::SystemClock clock;
  const auto restored = coordinator::RestoreSite(
      {.file = folder.path() + "/site.db", .directory = site.directory()}, clock);
  ASSERT_TRUE(restored.ok()) << restored.error().message;
  EXPECT_EQ(restored->ended, 2);
  site.Start();
  EXPECT_EQ(site.Get(job).view().outcome(), "NODE_LOST");
  EXPECT_EQ(site.Get(waiting).view().outcome(), "CANCELLED");
  v1::GetRequest lost;
  lost.set_job(later);
  v1::GetResponse nothing;
  EXPECT_EQ(site.Call(&Stub::Get, lost, &nothing).error_code(), grpc::StatusCode::NOT_FOUND);
  worker.Connect(site.channel());
  const v1::CoordinatorMessage stop = worker.Next(v1::CoordinatorMessage::kStop);
  EXPECT_EQ(stop.stop().job(), job);
  EXPECT_EQ(restored->gap.first, base::ParseJobId(later)->value);
  EXPECT_EQ(site.Submit("next"), base::ToString(base::JobId{restored->gap.last + 1}));
}

}  // namespace
}  // namespace trainctl::rpc_test
