// trainctl admin, against a coordinator in memory.
#include <stdlib.h>

#include <filesystem>

#include "client/exit_code.h"
#include "client/show/output.h"
#include "common/base/secret_file.h"
#include "tests/client/client_test.h"

namespace trainctl::client {
namespace {

class AdminTest : public ClientTest {
 protected:
  AdminTest() {
    v1::AuditResponse response;
    v1::AuditEntry& denied = *response.add_entries();
    denied.set_id(8);
    denied.set_time(1'500'000);
    denied.set_actor("bob");
    denied.set_address("127.0.0.1:40000");
    denied.set_action("cancel");
    denied.set_subject("j3");
    denied.set_verdict("denied: job j3 belongs to anna: ask them or an operator");
    v1::AuditEntry& accepted = *response.add_entries();
    accepted.set_id(7);
    accepted.set_actor("anna");
    accepted.set_action("submit");
    accepted.set_subject("j3");
    accepted.set_verdict("accepted");
    coordinator_.audit = response;
  }
};

TEST_F(AdminTest, AuditShowsWhoAskedForWhatAndWhatCameOfIt) {
  const Ended ended = Trainctl({"admin", "audit"});
  EXPECT_EQ(ended.code, kExitOk);
  for (const char* part : {"WHO", "bob", "127.0.0.1:40000", "cancel", "anna", "accepted",
                           "denied: job j3 belongs to anna: ask them or an operator"})
    EXPECT_NE(ended.out.find(part), std::string::npos) << part << "\n" << ended.out;
  EXPECT_EQ(coordinator_.audit_request.limit(), 50);
  EXPECT_EQ(coordinator_.audit_request.before(), 0);
}

TEST_F(AdminTest, AuditIsReadByPrograms) {
  const Json document =
      Json::parse(Trainctl({"admin", "audit", "--last", "2", "--before", "9", "-o", "json"}).out);
  ASSERT_EQ(document["audit"].size(), 2u);
  EXPECT_EQ(document["audit"][0]["actor"], "bob");
  EXPECT_EQ(document["audit"][0]["time"], 1.5);
  EXPECT_EQ(document["audit"][1]["verdict"], "accepted");
  EXPECT_EQ(coordinator_.audit_request.limit(), 2);
  EXPECT_EQ(coordinator_.audit_request.before(), 9);
  EXPECT_EQ(Trainctl({"admin", "audit", "-o", "name"}).out, "8\n7\n");
}

TEST_F(AdminTest, WhoIsNotAllowedIsToldAndTheExitStatusSaysSo) {
  coordinator_.audit =
      base::Error{base::Code::kDenied, "anna is a user: Audit needs the role admin"};
  const Ended ended = Trainctl({"admin", "audit"});
  EXPECT_EQ(ended.code, kExitDenied);
  EXPECT_EQ(ended.err, "trainctl: anna is a user: Audit needs the role admin\n");
}

TEST_F(AdminTest, OtherActionsAreRefused) {
  const Ended ended = Trainctl({"admin", "audits"});
  EXPECT_EQ(ended.code, kExitUsage);
  EXPECT_NE(ended.err.find("expected audit"), std::string::npos);
}

TEST_F(AdminTest, ATokenIsAskedForWithItsRoleAndTimeAndToldOnce) {
  const Ended ended =
      Trainctl({"admin", "token", "create", "anna", "--role", "operator", "--for", "2h"});
  EXPECT_EQ(ended.code, kExitOk) << ended.err;
  ASSERT_EQ(coordinator_.tokens.size(), 1u);
  EXPECT_EQ(coordinator_.tokens[0].owner(), "anna");
  EXPECT_EQ(coordinator_.tokens[0].role(), "operator");
  EXPECT_EQ(coordinator_.tokens[0].seconds(), 7200);
  EXPECT_NE(ended.out.find("trainctl_secret"), std::string::npos);
  EXPECT_EQ(Trainctl({"admin", "token", "ls"}).out.find("trainctl_secret"), std::string::npos);
  Trainctl({"admin", "token", "create", "bob", "--role", "user"});
  EXPECT_EQ(coordinator_.tokens[1].seconds(), 30 * 86'400);
}

TEST_F(AdminTest, TheScopeOfATokenIsAskedForAndListed) {
  const Ended ended =
      Trainctl({"admin", "token", "create", "ci", "--role", "user", "--scope", "submit,read"});
  EXPECT_EQ(ended.code, kExitOk) << ended.err;
  EXPECT_EQ(coordinator_.tokens[0].scope(), "submit,read");
  EXPECT_EQ(ended.out.find("Token 1 of ci, user, for submit,read, until "), 0u) << ended.out;
  Trainctl({"admin", "token", "create", "anna", "--role", "user"});
  EXPECT_NE(Trainctl({"admin", "token", "ls"}).out.find(" submit,read "), std::string::npos);
  const Json listed = Json::parse(Trainctl({"admin", "token", "ls", "-o", "json"}).out)["tokens"];
  EXPECT_EQ(listed[0]["scope"], "submit,read");
  EXPECT_EQ(listed[1]["scope"], nullptr);
  EXPECT_EQ(Trainctl({"admin", "worker-token", "gpu-1", "--scope", "read"}).code, kExitUsage);
}

TEST_F(AdminTest, ATokenThatIsWrittenToAFileIsNotPrinted) {
  char folder[] = "/tmp/trainctl-admin-XXXXXX";
  const std::string file = std::string(mkdtemp(folder)) + "/join.token";
  for (const char* format : {"table", "json"}) {
    const Ended ended = Trainctl({"admin", "worker-token", "gpu-1", "--to", file, "-o", format});
    EXPECT_EQ(ended.code, kExitOk) << ended.err;
    EXPECT_EQ(ended.out.find("trainctl_secret"), std::string::npos) << ended.out;
    EXPECT_EQ(base::ReadSecretFile(file).value(), "trainctl_secret");
  }
  EXPECT_EQ(coordinator_.tokens[0].role(), "worker");
  EXPECT_EQ(coordinator_.tokens[0].seconds(), 600);
  std::filesystem::remove_all(folder);
}

TEST_F(AdminTest, ATokenWithoutARoleOrOfAWorkerIsRefusedHere) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"admin", "token", "create", "anna"},
        {"admin", "token", "create", "gpu-1", "--role", "worker"},
        {"admin", "token", "create", "--role", "user"},
        {"admin", "token", "revoke", "x"},
        {"admin", "token"},
        {"admin", "worker-token"}})
    EXPECT_EQ(Trainctl(words).code, kExitUsage) << words.size();
  EXPECT_TRUE(coordinator_.tokens.empty());
}

TEST_F(AdminTest, ATokenIsRevokedByItsNumber) {
  Trainctl({"admin", "token", "create", "anna", "--role", "user"});
  const Ended revoked = Trainctl({"admin", "token", "revoke", "1"});
  EXPECT_EQ(revoked.code, kExitOk);
  EXPECT_NE(revoked.out.find("what follows jobs by it has ended"), std::string::npos)
      << revoked.out;
  EXPECT_EQ(coordinator_.revoked_tokens, std::vector<int64_t>{1});
  EXPECT_EQ(Trainctl({"admin", "token", "revoke", "1"}).code, kExitNotFound);
}

TEST_F(AdminTest, AHostIsRevokedByItsName) {
  coordinator_.workers = {CpuWorker("gpu-1/0", "READY")};
  coordinator_.workers[0].set_host("gpu-1");
  const Ended revoked = Trainctl({"admin", "revoke-host", "gpu-1"});
  EXPECT_EQ(revoked.code, kExitOk) << revoked.err;
  EXPECT_EQ(revoked.out,
            "Revoked what workers of gpu-1 came by: 1 connection ended. trainctl admin "
            "worker-token gpu-1 lets it in again.\n");
  EXPECT_NE(Trainctl({"admin", "revoke-host", "gpu-2"}).out.find("is that its name?"),
            std::string::npos);
  EXPECT_EQ(Trainctl({"admin", "revoke-host"}).code, kExitUsage);
  EXPECT_EQ(coordinator_.revoked_hosts, (std::vector<std::string>{"gpu-1", "gpu-2"}));
}

TEST_F(AdminTest, ABackupIsAskedForByItsFileAndSaysWhatIsInIt) {
  const Ended made = Trainctl({"admin", "backup", "/backups/site.db"});
  EXPECT_EQ(made.code, kExitOk) << made.err;
  EXPECT_EQ(made.out,
            "/backups/site.db on the coordinator's host has 12 jobs, 3.00 MiB; it was read again "
            "and holds together.\n");
  const Json record =
      Json::parse(Trainctl({"admin", "backup", "/backups/b.db", "-o", "json"}).out)["backups"].at(
          0);
  EXPECT_EQ(record, Json({{"file", "/backups/b.db"}, {"jobs", 12}, {"bytes", 3 << 20}}));
  EXPECT_EQ(coordinator_.backups, (std::vector<std::string>{"/backups/site.db", "/backups/b.db"}));
  EXPECT_EQ(Trainctl({"admin", "backup"}).code, kExitUsage);
}

}  // namespace
}  // namespace trainctl::client
