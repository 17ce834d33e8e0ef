// Who may do what, written out: every RPC of the proto file × role × whose job it is on.
#include "server/auth/permissions.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "proto/trainctl.pb.h"

namespace trainctl::auth {
namespace {

// One letter for each role from none to admin: '-' denied, 'o' allowed on their own, 'a' on any.
const std::map<std::string, std::string> kExpected = {
    {"List", "-aaaa"},         {"Get", "-aaaa"},           {"Watch", "-aaaa"},
    {"Logs", "-aaaa"},         {"Compare", "-aaaa"},       {"Metrics", "-aaaa"},
    {"EarlierRuns", "-aaaa"},  {"Workers", "-aaaa"},       {"Inspect", "--aaa"},
    {"ReadArtifact", "--oaa"}, {"Submit", "--oaa"},        {"Cancel", "--oaa"},
    {"Remove", "--oaa"},       {"Fence", "---aa"},         {"RemoveWorker", "---aa"},
    {"Drain", "---aa"},        {"Undrain", "---aa"},       {"Audit", "----a"},
    {"Leases", "-aaaa"},       {"FindLease", "-aaaa"},     {"CreateLease", "--aaa"},
    {"ExtendLease", "--oaa"},  {"DeleteLease", "--oaa"},   {"ListTokens", "----a"},
    {"CreateToken", "----a"},  {"RevokeToken", "----a"},   {"Backup", "----a"},
    {"RevokeHost", "----a"},   {"RemoveOutputs", "--oaa"}, {"SignIn", "-aaaa"}};

std::vector<std::string> Rpcs() {
  std::vector<std::string> names;
  const auto* file = v1::SubmitRequest::descriptor()->file();
  for (int service = 0; service < file->service_count(); ++service) {
    for (int method = 0; method < file->service(service)->method_count(); ++method)
      names.push_back(file->service(service)->method(method)->name());
  }
  return names;
}

Caller Anna(Role role, bool is_worker = false) {
  return {.name = "anna", .address = "127.0.0.1:1", .role = role, .is_worker = is_worker};
}

TEST(Permissions, EveryRpcHasOneRowAndEveryRowAnRpc) {
  std::multiset<std::string> rows;
  for (const Permission& permission : Permissions()) rows.emplace(permission.rpc);
  const std::vector<std::string> rpcs = Rpcs();
  EXPECT_GT(rpcs.size(), 10u);
  EXPECT_EQ(rows, std::multiset<std::string>(rpcs.begin(), rpcs.end()));
}

TEST(Permissions, EveryRpcIsAllowedToWhomItShouldBe) {
  for (const std::string& rpc : Rpcs()) {
    if (PermissionOf(rpc).worker) continue;
    ASSERT_TRUE(kExpected.contains(rpc)) << rpc << ": say here who may make it";
    for (int role = 0; role < 5; ++role) {
      const Caller caller = Anna(static_cast<Role>(role));
      const char expected = kExpected.at(rpc)[role];
      const std::string where = rpc + " as " + std::string(Name(caller.role));
      EXPECT_EQ(CheckCall(caller, rpc).ok(), expected != '-') << where;
      EXPECT_EQ(CheckOwner(caller, rpc, "j1", "anna").ok(), expected != '-') << where;
      EXPECT_EQ(CheckOwner(caller, rpc, "j1", "bob").ok(), expected == 'a') << where;
      EXPECT_EQ(CheckOwner(caller, rpc, "j1", "").ok(), expected == 'a') << where;
    }
  }
}

TEST(Permissions, WorkersConnectWhateverTheirRole) {
  for (const Role role : {Role::kNone, Role::kUser, Role::kAdmin}) {
    EXPECT_TRUE(CheckCall(Anna(role, /*is_worker=*/true), "Connect").ok());
    const base::Status refused = CheckCall(Anna(role), "Connect");
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, base::Code::kDenied);
  }
  EXPECT_FALSE(CheckCall(Anna(Role::kNone, /*is_worker=*/true), "List").ok());
}

TEST(Permissions, AJoinTokenIsForACertificateAlone) {
  const Caller joining{.name = "worker:gpu-1", .tls = true, .host = "gpu-1", .joins = 3};
  for (const std::string& rpc : Rpcs())
    EXPECT_EQ(CheckCall(joining, rpc).ok(), rpc == "Certify") << rpc;
  const Caller certified{.name = "worker:gpu-1", .is_worker = true, .tls = true, .host = "gpu-1"};
  for (const std::string& rpc : Rpcs())
    EXPECT_EQ(CheckCall(certified, rpc).ok(), rpc == "Certify" || rpc == "Connect") << rpc;
}

TEST(Permissions, ACallerWithoutANameOwnsNothing) {
  EXPECT_FALSE(CheckOwner({.role = Role::kUser}, "Cancel", "j1", "").ok());
}

TEST(Permissions, ErrorsNameTheRule) {
  EXPECT_EQ(CheckOwner(Anna(Role::kUser), "Cancel", "j3", "bob").error().message,
            "job j3 belongs to bob: ask them or an operator");
  EXPECT_EQ(CheckCall(Anna(Role::kUser), "Fence").error().message,
            "anna is a user: Fence needs the role operator, which an admin gives");
  EXPECT_EQ(CheckCall(Anna(Role::kNone), "List").error().message,
            "anna has no role on this site: List needs the role viewer, which an admin gives");
}

}  // namespace
}  // namespace trainctl::auth
