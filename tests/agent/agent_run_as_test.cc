// Ranks that run as their jobs' owners: what is theirs, what stays closed to them, who is refused.
// The owner is `nobody`, whom every host has.
#include <gmock/gmock.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "common/base/file.h"
#include "common/base/saved_folder.h"
#include "common/job/job_json.h"
#include "common/rank/rank_json.h"
#include "tests/agent/agent_fixture.h"
#include "tests/checkout.h"
#include "worker/agent/rank_records.h"
#include "worker/shim/process_table.h"

namespace trainctl::tests {
namespace {

using testing::HasSubstr;

struct stat StatusOf(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status;
}

class AgentRunAsTest : public AgentFixture {
 protected:
  AgentRunAsTest() : old_mask_(::umask(077)) {
    options_.rules.run_as_owner = true;
    options_.environment.push_back("XDG_CACHE_HOME=/var/cache/of-the-worker");
    options_.inspection_program = checkout::Program("trainworker");
    std::filesystem::permissions(folder_.path(), std::filesystem::perms(0711));
  }
  ~AgentRunAsTest() override { ::umask(old_mask_); }

  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can start ranks as their owners";
    if (const passwd* nobody = ::getpwnam("nobody"))
      nobody_ = {.user = nobody->pw_uid, .group = nobody->pw_gid, .home = nobody->pw_dir};
    std::filesystem::path program = options_.rank_program;
    for (; program.has_relative_path(); program = program.parent_path()) {
      if ((StatusOf(program).st_mode & S_IXOTH) == 0)
        GTEST_SKIP() << program << " is closed to other users";
    }
  }

  static std::string PlanOf(const std::string& owner, const std::string& script) {
    job::RankPlan plan = *job::RankPlanFromJson(Plan(script));
    plan.owner = owner;
    return job::ToJson(plan);
  }

  v1::InspectResult Inspect(const std::string& owner, const std::string& data) {
    job::RankPlan plan = *job::RankPlanFromJson(PlanOf(owner, ""));
    plan.job.model.path = checkout::File("deploy/models/tiny");
    plan.job.data.path = data;
    const size_t before = coordinator_.told().inspections.size();
    v1::CoordinatorMessage message;
    message.mutable_inspect()->set_request_id("r1");
    message.mutable_inspect()->set_owner(owner);
    message.mutable_inspect()->set_job_json(job::ToJson(plan.job));
    coordinator_.Send(message);
    coordinator_.Await("the inspection",
                       [&](const auto& told) { return told.inspections.size() > before; });
    return coordinator_.told().inspections.back();
  }

  struct Account {
    uid_t user = 0;
    gid_t group = 0;
    std::string home;
  };
  Account nobody_;

 private:
  const mode_t old_mask_;
};

TEST_F(AgentRunAsTest, ARankIsItsOwnersProcessAndEndsWhenItIsTold) {
  StartAgent();
  coordinator_.Start(kRank0, PlanOf("nobody", "started here; wait"));
  AwaitStarted(kRank0);
  const pid_t pid = agent::ReadPidRecord(Folder(kRank0))->pid;
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  const std::string status{std::istreambuf_iterator<char>(file), {}};
  const auto four = [](auto id) {
    const std::string text = "\t" + std::to_string(id);
    return text + text + text + text + "\n";
  };
  EXPECT_THAT(status, HasSubstr("\nUid:" + four(nobody_.user)));
  EXPECT_THAT(status, HasSubstr("\nGid:" + four(nobody_.group)));
  EXPECT_THAT(status, HasSubstr("\nGroups:\t" + std::to_string(nobody_.group)));
  EXPECT_THAT(status, HasSubstr("\nCapEff:\t0000000000000000\n"));

  for (const char* name : {"/scratch", "/plan.json"})
    EXPECT_EQ(StatusOf(Folder(kRank0) + name).st_uid, nobody_.user) << name;
  EXPECT_EQ(StatusOf(Folder(kRank0)).st_uid, 0u);
  for (const auto& entry : std::filesystem::directory_iterator(Folder(kRank0))) {
    EXPECT_EQ(StatusOf(entry.path()).st_mode & 077, 0u) << entry.path();
  }
  coordinator_.Stop(kRank0, 60);
  EXPECT_EQ(std::get<job::RankExit>(coordinator_.AwaitEnd(kRank0)).signal, SIGTERM);
  coordinator_.Release(kRank0);
  AwaitNoFolder(kRank0);
}

TEST_F(AgentRunAsTest, ItsEnvironmentIsTheOwners) {
  StartAgent();
  coordinator_.Start(kRank0, PlanOf("nobody",
                                    "environment HOME; environment USER; environment "
                                    "XDG_CACHE_HOME; environment AGENT_TEST; exit 0"));
  EXPECT_EQ(std::get<job::RankExit>(coordinator_.AwaitEnd(kRank0)).exit_code, 0);
  EXPECT_EQ(coordinator_.told().logs[kRank0], nobody_.home + "\nnobody\n\npassed on\n");
}

// The kernel forgets who is to die with whom when a process changes its user.
TEST_F(AgentRunAsTest, ARankDiesWithItsShim) {
  StartAgent();
  coordinator_.Start(kRank0, PlanOf("nobody", "started here; ignore-term; wait"));
  AwaitStarted(kRank0);
  StopAgent();
  const auto rank = agent::ReadPidRecord(Folder(kRank0));
  ASSERT_TRUE(rank);
  ASSERT_TRUE(shim::Signal(*shim::ReadStat(rank->session), SIGKILL));
  AwaitThat("the rank's end", [&] {
    const auto process = shim::ReadStat(rank->pid);
    return !process || process->ended();
  });
}

TEST_F(AgentRunAsTest, OwnersWithoutAnAccountForJobsAreRefused) {
  StartAgent();
  const std::pair<const char*, const char*> kRefused[] = {
      {"no-such-user", "user 'no-such-user' has no account on this host"},
      {"root", "user 'root' is root (uid 0): only accounts from 1000 on run jobs"},
      {"daemon", "user 'daemon' is the system's own (uid 1)"},
      {"", "jobs of nobody known don't run on this host: they would run as their owner"}};
  job::RankKey key = kRank0;
  for (const auto& [owner, why] : kRefused) {
    coordinator_.Start(key, PlanOf(owner, "exit 0"));
    const auto end = std::get<job::LaunchFailure>(coordinator_.AwaitEnd(key));
    EXPECT_THAT(end.message, HasSubstr("host testhost: " + std::string(why)));
    EXPECT_FALSE(end.worker_fault) << owner;
    ++key.rank;
    const auto inspected = Inspect(owner, checkout::File("deploy/data/alpaca.json"));
    EXPECT_THAT(inspected.error(), HasSubstr(why));
    EXPECT_FALSE(inspected.unavailable()) << owner;
  }
}

TEST_F(AgentRunAsTest, WhatTheOwnerMayNotReadIsNotLookedAt) {
  StartAgent();
  const std::string rows = folder_.path() + "/rows.json";
  std::filesystem::copy_file(checkout::File("deploy/data/alpaca.json"), rows);
  std::filesystem::permissions(rows, std::filesystem::perms(0600));
  EXPECT_THAT(Inspect("nobody", rows).error(), HasSubstr("Permission denied"));
  std::filesystem::permissions(rows, std::filesystem::perms(0644));
  EXPECT_EQ(Inspect("nobody", rows).error(), "");
}

// Whoever owns a rank's process can make it say that it has saved any file.
TEST_F(AgentRunAsTest, WhatTheOwnerMayNotReadIsNotReadAsSaved) {
  StartAgent();
  const auto error_of = [&](mode_t mode) {
    const std::string path = folder_.path() + "/saved" + std::to_string(mode);
    EXPECT_TRUE(base::WriteFileAtomically(path, "secret"));
    std::filesystem::permissions(path, std::filesystem::perms(mode));
    const size_t before = coordinator_.told().artifacts.size();
    v1::CoordinatorMessage message;
    message.mutable_artifact()->set_request_id("a1");
    message.mutable_artifact()->set_path(path);
    message.mutable_artifact()->set_owner("nobody");
    message.mutable_artifact()->set_record(base::ToText(*base::RecordSaved(path)));
    message.mutable_artifact()->set_file(base::RecordSaved(path)->files.front().path);
    coordinator_.Send(message);
    coordinator_.Await("the piece",
                       [&](const auto& told) { return told.artifacts.size() > before; });
    return coordinator_.told().artifacts.back().error();
  };
  EXPECT_THAT(error_of(0600), HasSubstr("Permission denied"));
  EXPECT_EQ(error_of(0644), "");
}

TEST_F(AgentRunAsTest, WhatTheOwnerMayNotRemoveStays) {
  StartAgent();
  const std::string out = folder_.path() + "/out";
  std::filesystem::create_directory(out);
  std::filesystem::permissions(out, std::filesystem::perms(0755));
  ASSERT_TRUE(base::WriteFileAtomically(out + "/weights", "of root"));
  const auto error = [&] {
    const size_t before = coordinator_.told().outputs.size();
    v1::CoordinatorMessage message;
    message.mutable_outputs()->set_path(out);
    message.mutable_outputs()->set_owner("nobody");
    v1::SavedPlace& saved = *message.mutable_outputs()->add_saved();
    saved.set_path(out);
    saved.set_record(base::ToText(*base::RecordSaved(out)));
    coordinator_.Send(message);
    coordinator_.Await("the removal",
                       [&](const auto& told) { return told.outputs.size() > before; });
    return coordinator_.told().outputs.back().error();
  };
  EXPECT_THAT(error(), HasSubstr("Permission denied"));
  EXPECT_TRUE(std::filesystem::exists(out + "/weights"));
  ASSERT_EQ(::chown(out.c_str(), nobody_.user, nobody_.group), 0);
  EXPECT_EQ(error(), "");
  EXPECT_FALSE(std::filesystem::exists(out + "/weights"));
}

}  // namespace
}  // namespace trainctl::tests
