#include "server/auth/unix_policy.h"

#include <gtest/gtest.h>

namespace trainctl::auth {
namespace {

constexpr uid_t kOwn = 990;

TEST(UnixPolicy, RootAndTheCoordinatorsOwnUserAreAdminsAndWorkers) {
  UnixPolicy policy;
  ASSERT_TRUE(AddRole("root=viewer", &policy).ok());
  for (const UnixUser& user : {UnixUser{0, "root"}, UnixUser{kOwn, "trainctl"}}) {
    const Caller caller = CallerOf(user, kOwn, policy);
    EXPECT_EQ(caller.name, user.name);
    EXPECT_EQ(caller.role, Role::kAdmin);
    EXPECT_TRUE(caller.is_worker);
  }
}

TEST(UnixPolicy, OthersAreUsersUnlessTheirRoleIsGiven) {
  UnixPolicy policy;
  EXPECT_EQ(CallerOf({1000, "anna"}, kOwn, policy).role, Role::kUser);
  ASSERT_TRUE(AddRole("anna=operator", &policy).ok());
  ASSERT_TRUE(AddRole("*=none", &policy).ok());
  EXPECT_EQ(CallerOf({1000, "anna"}, kOwn, policy).role, Role::kOperator);
  EXPECT_EQ(CallerOf({1001, "bob"}, kOwn, policy).role, Role::kNone);
}

TEST(UnixPolicy, WorkersAreTheUsersThatAreNamed) {
  const UnixPolicy policy{.workers = {"gpu"}};
  EXPECT_TRUE(CallerOf({1000, "gpu"}, kOwn, policy).is_worker);
  EXPECT_FALSE(CallerOf({1001, "anna"}, kOwn, policy).is_worker);
}

TEST(UnixPolicy, AUserHasOneRole) {
  UnixPolicy policy;
  for (const std::string user : {"anna", "*"}) {
    ASSERT_TRUE(AddRole(user + "=viewer", &policy).ok());
    const base::Status again = AddRole(user + "=admin", &policy);
    ASSERT_FALSE(again.ok());
    EXPECT_EQ(again.error().message,
              "--role '" + user + "=admin': '" + user + "' has a role already: say it once");
  }
  EXPECT_EQ(CallerOf({1000, "anna"}, kOwn, policy).role, Role::kViewer);
  EXPECT_EQ(CallerOf({1001, "bob"}, kOwn, policy).role, Role::kViewer);
}

TEST(UnixPolicy, WhatIsNoRoleIsRefused) {
  UnixPolicy policy;
  for (const char* text : {"anna", "anna=", "anna=root", "=user", ""}) {
    const base::Status status = AddRole(text, &policy);
    ASSERT_FALSE(status.ok()) << text;
    EXPECT_EQ(status.error().code, base::Code::kInvalid);
  }
  EXPECT_TRUE(policy.roles.empty());
}

}  // namespace
}  // namespace trainctl::auth
