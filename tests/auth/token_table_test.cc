#include "server/auth/token_table.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "common/base/file.h"
#include "tests/rpc/temporary_folder.h"

namespace trainctl::auth {
namespace {

constexpr int64_t kDaySeconds = 86'400;
constexpr int64_t kDayMicros = kDaySeconds * 1'000'000;

class TokenTableTest : public testing::Test {
 protected:
  base::Result<std::unique_ptr<TokenTable>> Open() { return TokenTable::Open(path_, clock_); }
  NewToken Create(TokenTable& table, const std::string& owner, int64_t days = 30) {
    return table.Create({owner, "user", days * kDaySeconds}).value();
  }
  std::string Stored() { return base::ReadFile(path_, 1 << 20).value(); }

  rpc_test::TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/tokens";
  base::FakeClock clock_;
};

TEST_F(TokenTableTest, ATokenIsFoundByItsTextAcrossARestart) {
  const NewToken made = Create(*Open().value(), "anna");
  const auto table = Open().value();
  const Token found = table->Find(made.text).value();
  EXPECT_EQ(found.owner, "anna");
  EXPECT_EQ(found.role, Role::kUser);
  EXPECT_FALSE(found.joins);
  EXPECT_EQ(found.expires_at, clock_.Wall() + 30 * kDayMicros);
  EXPECT_EQ(table->List().size(), 1u);
}

TEST_F(TokenTableTest, OnlyItsHashIsKeptInAFileOfTheOwnerAlone) {
  const NewToken made = Create(*Open().value(), "anna");
  EXPECT_EQ(made.text.size(), std::string("trainctl_").size() + 64);
  EXPECT_EQ(Stored().find(made.text.substr(9)), std::string::npos);
  EXPECT_NE(Stored().find(HashOf(made.text)), std::string::npos);
  struct stat status{};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(TokenTableTest, WhatIsUnknownExpiredOrRevokedIsDenied) {
  const auto table = Open().value();
  const NewToken brief = Create(*table, "anna", 1), revoked = Create(*table, "bob");
  ASSERT_TRUE(table->Revoke(revoked.token.id).ok());
  EXPECT_EQ(table->Revoke(revoked.token.id).error().code, base::Code::kNotFound);
  EXPECT_TRUE(table->Find(brief.text).ok());
  clock_.Advance(kDayMicros);
  for (const std::string& text : {brief.text, revoked.text, HashOf(brief.text), std::string()}) {
    const auto found = table->Find(text);
    ASSERT_FALSE(found.ok()) << text;
    EXPECT_EQ(found.error().code, base::Code::kDenied);
    EXPECT_EQ(found.error().message.find("trainctl_"), std::string::npos);
  }
  EXPECT_FALSE(Open().value()->Find(revoked.text).ok()) << "after a restart too";
}

TEST_F(TokenTableTest, IdsAreNeverUsedAgain) {
  EXPECT_EQ(Create(*Open().value(), "anna").token.id, 1);
  ASSERT_TRUE(Open().value()->Revoke(1).ok());
  EXPECT_EQ(Create(*Open().value(), "anna").token.id, 2);
}

TEST_F(TokenTableTest, AJoinTokenIsOfAHostForDaysAtMostAndForgottenOnceItHasExpired) {
  const auto table = Open().value();
  const NewToken join = table->Create({"gpu-1", "worker", 600}).value();
  const Token found = table->Find(join.text).value();
  EXPECT_TRUE(found.joins);
  EXPECT_EQ(found.role, Role::kNone);
  EXPECT_EQ(RoleOf(found), "worker");
  EXPECT_TRUE(Open().value()->Find(join.text).value().joins) << "after a restart too";
  EXPECT_FALSE(table->Create({"gpu_1", "worker", 600}).ok()) << "no host's name";
  EXPECT_FALSE(table->Create({"gpu-1", "worker", 8 * kDaySeconds}).ok());
  clock_.Advance(int64_t{600} * 1'000'000);
  EXPECT_EQ(table->Find(join.text).error().code, base::Code::kDenied);
  Create(*table, "anna");
  EXPECT_EQ(table->List().size(), 1u);
}

TEST_F(TokenTableTest, ATokenIsForItsScopeAcrossARestart) {
  const NewToken made = Open().value()->Create({"ci", "user", kDaySeconds, "submit,read"}).value();
  const auto table = Open().value();
  const Token found = table->Find(made.text).value();
  EXPECT_EQ(found.scopes.ToString(), "read,submit");
  const Caller caller = CallerOf(found);
  EXPECT_TRUE(caller.scopes.Has(Scope::kSubmit));
  EXPECT_FALSE(caller.scopes.Has(Scope::kCancel));
  EXPECT_TRUE(CallerOf(Create(*table, "anna").token).scopes.Has(Scope::kCancel));
}

TEST_F(TokenTableTest, TokensOfVersion01WhichKnewNoScopesAreForAllThatTheirRolesMay) {
  const std::string before = "next 4\n1 " + HashOf("x") + " admin admin 1 2000000000000000\n3 " +
                             HashOf("y") + " gpu-1 worker 1 2000000000000000\n";
  ASSERT_TRUE(base::WriteFileAtomically(path_, before, 0600).ok());
  const auto table = Open().value();
  EXPECT_TRUE(table->Find("y").value().joins);
  const Token found = table->Find("x").value();
  EXPECT_EQ(found.scopes.ToString(), "");
  EXPECT_TRUE(found.scopes.Has(Scope::kAdmin));
  Create(*table, "anna");
  EXPECT_TRUE(Open().value()->Find("x").value().scopes.Has(Scope::kAdmin));
}

TEST_F(TokenTableTest, AScopeThatIsNoneOrThatTheRoleCannotUseIsRefused) {
  const auto table = Open().value();
  for (const auto& [role, scope] :
       std::vector<std::pair<std::string, std::string>>{{"user", "write"},
                                                        {"user", "read,"},
                                                        {"user", "read submit"},
                                                        {"user", "none"},
                                                        {"user", "operate"},
                                                        {"viewer", "submit,read"},
                                                        {"operator", "admin"},
                                                        {"worker", "read"}}) {
    const auto made = table->Create({"gpu-1", role, 600, scope});
    ASSERT_FALSE(made.ok()) << role << " " << scope;
    EXPECT_EQ(made.error().code, base::Code::kInvalid);
  }
  EXPECT_EQ(table->Create({"ci", "viewer", 600, "read,submit"}).error().message,
            "scope 'submit': the role viewer may make no such call");
}

TEST_F(TokenTableTest, NoTokenMakesOneThatIsForMoreThanItself) {
  const auto table = Open().value();
  const Scopes admin = Scopes::Parse("admin,read").value();
  for (const char* scope : {"", "submit", "read,submit"}) {
    const auto made = table->Create({"anna", "admin", 600, scope, admin});
    ASSERT_FALSE(made.ok()) << scope;
    EXPECT_EQ(made.error().code, base::Code::kDenied);
  }
  EXPECT_TRUE(table->Create({"anna", "admin", 600, "read", admin}).ok());
  EXPECT_TRUE(table->Create({"gpu-1", "worker", 600, "", admin}).ok());
}

TEST_F(TokenTableTest, WhatNobodyCanOwnIsRefused) {
  const auto table = Open().value();
  for (const std::string& owner : {std::string(), std::string("a b"), std::string("a\nb"),
                                   std::string(65, 'a'), std::string("worker:gpu-1")}) {
    EXPECT_EQ(table->Create({owner, "user", kDaySeconds}).error().code, base::Code::kInvalid)
        << owner;
  }
  for (const char* role : {"none", "", "root", "user "})
    EXPECT_EQ(table->Create({"anna", role, kDaySeconds}).error().code, base::Code::kInvalid);
  for (const int64_t seconds : {int64_t{0}, int64_t{-1}, TokenTable::kMostSeconds + 1, INT64_MAX})
    EXPECT_EQ(table->Create({"anna", "user", seconds}).error().code, base::Code::kInvalid);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(TokenTableTest, ADamagedFileIsNamedWithItsLine) {
  const std::string hash = HashOf("x");
  for (const std::string& damaged :
       {std::string("1 abc anna user 1 2"), "1 " + hash + " anna user 1", std::string("x"),
        "1 " + hash + " a", "9 " + hash + " anna user 1 2", "1 " + hash + " anna none 1 2",
        "1 " + hash + " anna user 1 2 3", "1 " + hash + " anna user 1 2 read,x",
        "1 " + hash + " anna user 1 2 read submit"}) {
    ASSERT_TRUE(base::WriteFileAtomically(path_, "next 2\n" + damaged + "\n", 0600).ok());
    const auto table = Open();
    ASSERT_FALSE(table.ok()) << damaged;
    EXPECT_NE(table.error().message.find(path_ + ", line 2"), std::string::npos);
  }
  ASSERT_TRUE(base::WriteFileAtomically(path_, "1 " + hash + " anna user 1 2\n", 0600).ok());
  EXPECT_NE(Open().error().message.find("line 1"), std::string::npos);
}

TEST(HashOf, IsSha256) {
  EXPECT_EQ(HashOf("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace trainctl::auth
