// Who may do what, written out: every RPC of the proto file × role × whose job it is on.
#include "server/auth/permissions.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "proto/trainctl.pb.h"

namespace trainctl::auth {
namespace {

// One letter for each role from none to admin: '-' denied, 'o' allowed on their own, 'a' on any.
struct Expected {
  std::string roles;
  Scope scope;  // without which no token makes it
};
const std::map<std::string, Expected> kExpected = {{"List", {"-aaaa", Scope::kRead}},
                                                   {"Get", {"-aaaa", Scope::kRead}},
                                                   {"Watch", {"-aaaa", Scope::kRead}},
                                                   {"Logs", {"-aaaa", Scope::kRead}},
                                                   {"Compare", {"-aaaa", Scope::kRead}},
                                                   {"Metrics", {"-aaaa", Scope::kRead}},
                                                   {"EarlierRuns", {"-aaaa", Scope::kRead}},
                                                   {"Workers", {"-aaaa", Scope::kRead}},
                                                   {"Inspect", {"--aaa", Scope::kSubmit}},
                                                   {"ReadArtifact", {"--oaa", Scope::kRead}},
                                                   {"Submit", {"--oaa", Scope::kSubmit}},
                                                   {"Cancel", {"--oaa", Scope::kCancel}},
                                                   {"Remove", {"--oaa", Scope::kRemove}},
                                                   {"Fence", {"---aa", Scope::kOperate}},
                                                   {"RemoveWorker", {"---aa", Scope::kOperate}},
                                                   {"Drain", {"---aa", Scope::kOperate}},
                                                   {"Undrain", {"---aa", Scope::kOperate}},
                                                   {"Audit", {"----a", Scope::kRead}},
                                                   {"Leases", {"-aaaa", Scope::kRead}},
                                                   {"FindLease", {"-aaaa", Scope::kRead}},
                                                   {"CreateLease", {"--aaa", Scope::kLease}},
                                                   {"ExtendLease", {"--oaa", Scope::kLease}},
                                                   {"DeleteLease", {"--oaa", Scope::kLease}},
                                                   {"ListTokens", {"----a", Scope::kRead}},
                                                   {"CreateToken", {"----a", Scope::kAdmin}},
                                                   {"RevokeToken", {"----a", Scope::kAdmin}},
                                                   {"Backup", {"----a", Scope::kAdmin}},
                                                   {"RevokeHost", {"----a", Scope::kAdmin}},
                                                   {"RemoveOutputs", {"--oaa", Scope::kRemove}},
                                                   {"SignIn", {"-aaaa", Scope::kRead}}};

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
      const char expected = kExpected.at(rpc).roles[role];
      const std::string where = rpc + " as " + std::string(Name(caller.role));
      EXPECT_EQ(CheckCall(caller, rpc).ok(), expected != '-') << where;
      EXPECT_EQ(CheckOwner(caller, rpc, "j1", "anna").ok(), expected != '-') << where;
      EXPECT_EQ(CheckOwner(caller, rpc, "j1", "bob").ok(), expected == 'a') << where;
      EXPECT_EQ(CheckOwner(caller, rpc, "j1", "").ok(), expected == 'a') << where;
    }
  }
}

constexpr Scope kScopes[] = {Scope::kRead,  Scope::kSubmit,  Scope::kCancel, Scope::kRemove,
                             Scope::kLease, Scope::kOperate, Scope::kAdmin};

Caller ByToken(Role role, const std::string& scope) {
  Caller caller = Anna(role);
  caller.token = 3;
  caller.scopes = Scopes::Parse(scope).value();
  return caller;
}

TEST(Permissions, ATokenOfAScopeMakesTheCallsOfItAndNoOthersWhateverItsRoleAndWhoseTheyAreOn) {
  for (const std::string& rpc : Rpcs()) {
    if (PermissionOf(rpc).worker) {
      EXPECT_EQ(PermissionOf(rpc).scope, Scope::kNone) << rpc;
      continue;
    }
    for (const Scope scope : kScopes) {
      for (int role = 0; role < 5; ++role) {
        const Caller caller = ByToken(static_cast<Role>(role), std::string(Name(scope)));
        const char allowed = kExpected.at(rpc).roles[role];
        const bool is_for_it = scope == kExpected.at(rpc).scope;
        const std::string where = rpc + " for " + std::string(Name(scope));
        EXPECT_EQ(CheckCall(caller, rpc).ok(), is_for_it && allowed != '-') << where;
        EXPECT_EQ(CheckOwner(caller, rpc, "j1", "anna").ok(), is_for_it && allowed != '-') << where;
        EXPECT_EQ(CheckOwner(caller, rpc, "j1", "bob").ok(), is_for_it && allowed == 'a') << where;
      }
    }
  }
}

TEST(Permissions, ATokenOfSeveralScopesMakesTheCallsOfEach) {
  const Caller caller = ByToken(Role::kUser, "submit,read");
  for (const std::string& rpc : Rpcs()) {
    const bool expected =
        kExpected.contains(rpc) && kExpected.at(rpc).roles[2] != '-' &&
        (kExpected.at(rpc).scope == Scope::kSubmit || kExpected.at(rpc).scope == Scope::kRead);
    EXPECT_EQ(CheckCall(caller, rpc).ok(), expected) << rpc;
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
  EXPECT_EQ(CheckCall(ByToken(Role::kUser, "submit,read"), "Cancel").error().message,
            "token 3 of anna has the scope read,submit: Cancel needs the scope cancel, in a token "
            "that an admin makes");
}

}  // namespace
}  // namespace trainctl::auth
