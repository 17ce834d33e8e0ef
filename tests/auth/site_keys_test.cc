#include "server/auth/site_keys.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "common/base/file.h"
#include "common/base/secret_file.h"
#include "tests/rpc/temporary_folder.h"

namespace trainctl::auth {
namespace {

class SiteKeysTest : public testing::Test {
 protected:
  base::Status Init() { return InitSite(keys_, {"gpu-host"}, clock_); }
  unsigned ModeOf(const std::string& name) {
    struct stat status{};
    EXPECT_EQ(stat((keys_ + "/" + name).c_str(), &status), 0) << name;
    return status.st_mode & 0777;
  }

  rpc_test::TemporaryFolder folder_;
  const std::string keys_ = folder_.path() + "/keys";
  base::FakeClock clock_;
};

TEST_F(SiteKeysTest, InitMakesAllOfASiteAndOnlyTheOwnerReadsItsSecrets) {
  ASSERT_TRUE(Init().ok());
  for (const char* name : {"ca.key", "coordinator.key", "tokens", "admin.token"})
    EXPECT_EQ(ModeOf(name), 0600u) << name;
  EXPECT_EQ(ModeOf("."), 0700u);
  const auto keys = SiteKeys::Open(keys_, clock_).value();
  const auto admin =
      keys->tokens().Find(base::ReadSecretFile(keys_ + "/admin.token").value()).value();
  EXPECT_EQ(admin.role, Role::kAdmin);
  const auto facts = tls::ReadCertificate(keys->coordinator().certificate).value();
  EXPECT_EQ(facts.hosts, (std::vector<std::string>{"gpu-host", "localhost", "127.0.0.1", "::1"}));
  EXPECT_GT(keys->expires_at(), clock_.Wall());
}

TEST_F(SiteKeysTest, KeysThatAreThereAreKept) {
  ASSERT_TRUE(Init().ok());
  const std::string before = base::ReadFile(keys_ + "/ca.pem", 1 << 20).value();
  EXPECT_EQ(Init().error().code, base::Code::kConflict);
  EXPECT_EQ(base::ReadFile(keys_ + "/ca.pem", 1 << 20).value(), before);
}

TEST_F(SiteKeysTest, TheCoordinatorsCertificateIsMadeAnewByTheSameAuthority) {
  EXPECT_EQ(CertifyCoordinator(keys_, {"new-name"}, clock_).error().code, base::Code::kInvalid);
  ASSERT_TRUE(Init().ok());
  const std::string authority = base::ReadFile(keys_ + "/ca.pem", 1 << 20).value();
  const std::string before = base::ReadFile(keys_ + "/coordinator.key", 1 << 20).value();
  ASSERT_TRUE(CertifyCoordinator(keys_, {"new-name"}, clock_).ok());
  EXPECT_EQ(ModeOf("coordinator.key"), 0600u);
  EXPECT_NE(base::ReadFile(keys_ + "/coordinator.key", 1 << 20).value(), before);
  const auto keys = SiteKeys::Open(keys_, clock_).value();
  EXPECT_EQ(keys->authority(), authority);
  const auto facts = tls::ReadCertificate(keys->coordinator().certificate).value();
  EXPECT_EQ(facts.hosts, (std::vector<std::string>{"new-name", "localhost", "127.0.0.1", "::1"}));
  EXPECT_TRUE(keys->tokens().Find(base::ReadSecretFile(keys_ + "/admin.token").value()).ok());
}

TEST_F(SiteKeysTest, AKeyThatOthersCanReadIsRefused) {
  ASSERT_TRUE(Init().ok());
  for (const char* name : {"ca.key", "coordinator.key"}) {
    const std::string path = keys_ + "/" + name;
    ASSERT_EQ(chmod(path.c_str(), 0644), 0);
    const auto opened = SiteKeys::Open(keys_, clock_);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, base::Code::kDenied);
    EXPECT_NE(opened.error().message.find("chmod 600 " + path), std::string::npos);
    ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  }
}

TEST_F(SiteKeysTest, TokensThatOthersCouldHaveWrittenAreNotBelieved) {
  ASSERT_TRUE(Init().ok());
  const std::string path = keys_ + "/tokens";
  ASSERT_EQ(chmod(path.c_str(), 0620), 0);
  const auto opened = SiteKeys::Open(keys_, clock_);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, base::Code::kDenied);
  EXPECT_NE(opened.error().message.find("chmod 600 " + path), std::string::npos);
}

TEST_F(SiteKeysTest, InitTakesNothingThatOthersHavePutThere) {
  for (const char* name : {"tokens", "admin.token", "ca.key", "coordinator.key"}) {
    std::filesystem::create_directories(keys_);
    ASSERT_TRUE(base::WriteFileAtomically(keys_ + "/" + name, "next 1\n").ok());
    const base::Status refused = Init();
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().code, base::Code::kConflict);
    EXPECT_EQ(refused.error().message.find(keys_ + "/" + name + " is there already"), 0u);
    std::filesystem::remove_all(keys_);
  }
  std::filesystem::create_directories(keys_);
  ASSERT_EQ(chmod(keys_.c_str(), 0770), 0);
  EXPECT_EQ(Init().error().code, base::Code::kDenied);
  ASSERT_EQ(chmod(keys_.c_str(), 0755), 0);
  EXPECT_TRUE(Init().ok());
}

TEST_F(SiteKeysTest, AnAuthorityWithoutACertificateIsRefused) {
  ASSERT_TRUE(Init().ok());
  ASSERT_TRUE(base::WriteFileAtomically(keys_ + "/ca.pem", "").ok());
  const auto opened = SiteKeys::Open(keys_, clock_);
  ASSERT_FALSE(opened.ok()) << "any authority of the web could make workers";
  EXPECT_NE(opened.error().message.find(keys_ + "/ca.pem"), std::string::npos);
}

TEST_F(SiteKeysTest, WithoutKeysItIsSaidHowToMakeThem) {
  const auto opened = SiteKeys::Open(keys_, clock_);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, base::Code::kInvalid);
  EXPECT_NE(opened.error().message.find("traincoordinator init --dir " + keys_), std::string::npos);
}

TEST_F(SiteKeysTest, AWorkersCertificateIsForAWeekOfTheClock) {
  ASSERT_TRUE(Init().ok());
  const auto keys = SiteKeys::Open(keys_, clock_).value();
  const std::string request = tls::MakeRequest(tls::MakeKey().value()).value();
  const auto facts = tls::ReadCertificate(keys->CertifyWorker("gpu-1", request).value()).value();
  EXPECT_EQ(facts.name, "gpu-1");
  EXPECT_EQ(facts.validity.until / 1'000'000,
            clock_.Wall() / 1'000'000 + SiteKeys::kWorkerCertificateSeconds);
  EXPECT_EQ(facts.validity.from / 1'000'000, clock_.Wall() / 1'000'000 - 12 * 3600)
      << "for hosts whose clock is behind, by a zone of time";
}

class RevokedHostTest : public SiteKeysTest {
 protected:
  RevokedHostTest() {
    EXPECT_TRUE(Init().ok());
    clock_.Advance(kStep);
    keys_of_site_ = SiteKeys::Open(keys_, clock_).value();
  }
  std::string Certify(const std::string& host) {
    const std::string request = tls::MakeRequest(tls::MakeKey().value()).value();
    return keys_of_site_->CertifyWorker(host, request).value();
  }
  bool IsGood(const std::string& certificate) {
    return keys_of_site_->CheckCertificate(certificate).ok();
  }

  static constexpr int64_t kStep = 300'000;  // several within a second of certificates
  std::unique_ptr<SiteKeys> keys_of_site_;
};

TEST_F(RevokedHostTest, ItsCertificatesOfBeforeAreNoneAndThoseOfLaterAndOfOthersAre) {
  const std::string before = Certify("a"), other = Certify("b");
  EXPECT_TRUE(IsGood(before));
  clock_.Advance(kStep);
  ASSERT_TRUE(keys_of_site_->RevokeHost("a").ok());
  EXPECT_FALSE(IsGood(before));
  EXPECT_TRUE(IsGood(other));
  clock_.Advance(kStep);
  const std::string later = Certify("a");
  EXPECT_TRUE(IsGood(later)) << "made in the same second";
  keys_of_site_ = SiteKeys::Open(keys_, clock_).value();
  EXPECT_FALSE(IsGood(before)) << "it is on the disk";
  EXPECT_TRUE(IsGood(later));
  EXPECT_EQ(ModeOf("revoked"), 0600u);
  clock_.Advance(1'000'000);
  ASSERT_TRUE(keys_of_site_->RevokeHost("a").ok());
  EXPECT_FALSE(IsGood(later)) << "once more";
}

TEST_F(RevokedHostTest, ItsJoinTokensOfBeforeAreGone) {
  const auto joins = keys_of_site_->tokens().Create({"a", "worker", 600}).value();
  const auto others = keys_of_site_->tokens().Create({"b", "worker", 600}).value();
  const auto person = keys_of_site_->tokens().Create({"a", "user", 600}).value();
  ASSERT_TRUE(keys_of_site_->RevokeHost("a").ok());
  EXPECT_FALSE(keys_of_site_->tokens().Find(joins.text).ok());
  EXPECT_TRUE(keys_of_site_->tokens().Find(others.text).ok());
  EXPECT_TRUE(keys_of_site_->tokens().Find(person.text).ok()) << "of that name";
}

TEST_F(RevokedHostTest, IsForgottenOnceAllThatItHadHasExpired) {
  ASSERT_TRUE(keys_of_site_->RevokeHost("a").ok());
  const auto names = [&](const char* host) {
    return base::ReadFile(keys_ + "/revoked", 1 << 20).value().find(host) != std::string::npos;
  };
  clock_.Advance(SiteKeys::kWorkerCertificateSeconds * 1'000'000);
  ASSERT_TRUE(keys_of_site_->RevokeHost("b").ok());
  EXPECT_TRUE(names("a "));
  clock_.Advance(int64_t{120} * 1'000'000);
  ASSERT_TRUE(keys_of_site_->RevokeHost("c").ok());
  EXPECT_FALSE(names("a "));
  EXPECT_TRUE(names("b "));
}

TEST_F(RevokedHostTest, ADamagedListIsNotTakenForNone) {
  EXPECT_EQ(keys_of_site_->RevokeHost("../a").error().code, base::Code::kInvalid);
  for (const char* text : {"a\n", "a x\n", "a 1 2\n", "../a 1\n"}) {
    ASSERT_TRUE(base::WriteFileAtomically(keys_ + "/revoked", text, 0600).ok());
    const auto opened = SiteKeys::Open(keys_, clock_);
    ASSERT_FALSE(opened.ok()) << text;
    EXPECT_NE(opened.error().message.find("revoked, line 1: damaged"), std::string::npos);
  }
}

}  // namespace
}  // namespace trainctl::auth
