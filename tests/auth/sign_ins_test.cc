#include "server/auth/sign_ins.h"

#include <gtest/gtest.h>

#include "tests/rpc/temporary_folder.h"

namespace trainctl::auth {
namespace {

constexpr int64_t kSecond = 1'000'000;

class SignInsTest : public testing::Test {
 protected:
  Caller Of(const std::string& owner) {
    return CallerOf(tokens_->Create({owner, "user", int64_t{30} * 86'400}).value().token);
  }
  template <class T>
  static bool IsDenied(const base::Result<T>& result) {
    return !result.ok() && result.error().code == base::Code::kDenied;
  }

  rpc_test::TemporaryFolder folder_;
  base::FakeClock clock_;
  std::unique_ptr<TokenTable> tokens_ =
      TokenTable::Open(folder_.path() + "/tokens", clock_).value();
  SignIns sign_ins_{clock_, *tokens_};
};

TEST_F(SignInsTest, ACodeIsWhoAskedForItOnceAndForAMinute) {
  const std::string code = sign_ins_.MakeCode(Of("anna")).value();
  const Caller caller = sign_ins_.UseCode(code).value();
  EXPECT_EQ(caller.name, "anna");
  EXPECT_EQ(caller.role, Role::kUser);
  EXPECT_TRUE(IsDenied(sign_ins_.UseCode(code))) << "a second time";
  const std::string late = sign_ins_.MakeCode(Of("anna")).value();
  clock_.Advance(SignIns::kCodeSeconds * kSecond);
  EXPECT_TRUE(IsDenied(sign_ins_.UseCode(late)));
  EXPECT_TRUE(IsDenied(sign_ins_.UseCode("")));
}

TEST_F(SignInsTest, ASessionEndsByItselfOrWhenItIsToldTo) {
  const std::string text = sign_ins_.Begin(Of("anna")).value();
  const Caller caller = sign_ins_.Find(text).value();
  EXPECT_EQ(caller.name, "anna");
  EXPECT_NE(caller.session, 0);
  EXPECT_TRUE(sign_ins_.StillHolds(caller).ok());
  EXPECT_TRUE(IsDenied(sign_ins_.Find(text + "0")));
  const std::string other = sign_ins_.Begin(caller).value();
  sign_ins_.End(caller.session);
  EXPECT_TRUE(IsDenied(sign_ins_.Find(text)));
  EXPECT_FALSE(sign_ins_.StillHolds(caller).ok());
  EXPECT_TRUE(sign_ins_.Find(other).ok());
  clock_.Advance(SignIns::kSessionSeconds * kSecond);
  EXPECT_TRUE(IsDenied(sign_ins_.Find(other)));
}

TEST_F(SignInsTest, ARevokedTokenEndsItsSessionsAndCodes) {
  const Caller anna = Of("anna"), bob = Of("bob");
  const std::string code = sign_ins_.MakeCode(anna).value();
  const std::string hers = sign_ins_.Begin(anna).value(), his = sign_ins_.Begin(bob).value();
  const Caller found = sign_ins_.Find(hers).value();
  ASSERT_TRUE(tokens_->Revoke(anna.token).ok());
  EXPECT_TRUE(IsDenied(sign_ins_.Find(hers)));
  EXPECT_FALSE(sign_ins_.StillHolds(found).ok());
  EXPECT_TRUE(IsDenied(sign_ins_.UseCode(code)));
  EXPECT_TRUE(sign_ins_.Find(his).ok());
}

TEST_F(SignInsTest, OneTooManyOfAUserEndsTheirOldestAndNobodyElses) {
  const Caller anna = Of("anna");
  const std::string his = sign_ins_.Begin(Of("bob")).value();
  const std::string first = sign_ins_.Begin(anna).value();
  const std::string second = sign_ins_.Begin(anna).value();
  for (size_t i = 1; i < SignIns::kMostOfUser; ++i) ASSERT_TRUE(sign_ins_.Begin(anna).ok());
  EXPECT_TRUE(IsDenied(sign_ins_.Find(first)));
  EXPECT_TRUE(sign_ins_.Find(second).ok());
  EXPECT_TRUE(sign_ins_.Find(his).ok());
}

TEST_F(SignInsTest, ThereAreNotMoreThanTheBoundOfAll) {
  for (size_t i = 0; i < SignIns::kMost; ++i)
    ASSERT_TRUE(sign_ins_.Begin({.name = "user" + std::to_string(i)}).ok());
  const auto refused = sign_ins_.Begin({.name = "anna"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, base::Code::kExhausted);
  clock_.Advance(SignIns::kSessionSeconds * kSecond);
  EXPECT_TRUE(sign_ins_.Begin({.name = "anna"}).ok());
}

}  // namespace
}  // namespace trainctl::auth
