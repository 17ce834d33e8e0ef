#include "common/base/secret_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/file.h"

namespace trainctl::base {
namespace {

class SecretFileTest : public testing::Test {
 protected:
  SecretFileTest() {
    char folder[] = "/tmp/trainctl-secret-XXXXXX";
    folder_ = mkdtemp(folder);
    path_ = folder_ + "/token";
  }
  ~SecretFileTest() override {
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }

  std::string folder_, path_;
};

TEST_F(SecretFileTest, IsOfItsOwnerAloneAndReadWithoutItsNewline) {
  ASSERT_TRUE(WriteSecretFile(path_, "secret").ok());
  struct stat status{};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(ReadSecretFile(path_).value(), "secret");
}

TEST_F(SecretFileTest, ThatOthersCanReadIsRefusedAndItsContentNotTold) {
  ASSERT_TRUE(WriteSecretFile(path_, "secret").ok());
  for (const mode_t mode : {0640, 0604, 0620, 0666}) {
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
    const auto read = ReadSecretFile(path_);
    ASSERT_FALSE(read.ok()) << mode;
    EXPECT_EQ(read.error().code, Code::kDenied);
    EXPECT_EQ(read.error().message,
              path_ + " holds a secret and is open to other users: chmod 600 " + path_);
  }
  ASSERT_EQ(chmod(path_.c_str(), 0400), 0);
  EXPECT_TRUE(ReadSecretFile(path_).ok());
}

TEST_F(SecretFileTest, ThatIsMissingOrEmptyIsSaidSo) {
  EXPECT_EQ(ReadSecretFile(path_).error().code, Code::kNotFound);
  ASSERT_TRUE(WriteFileAtomically(path_, "\n", 0600).ok());
  EXPECT_EQ(ReadSecretFile(path_).error().code, Code::kInvalid);
}

TEST_F(SecretFileTest, ATokenIsOneWordThatAHeaderCanCarry) {
  ASSERT_TRUE(WriteSecretFile(path_, "trainctl_09~!").ok());
  EXPECT_EQ(ReadTokenFile(path_).value(), "trainctl_09~!");
  for (const char* text : {"a\nb", "a b", "a\x01", "\xef\xbb\xbft", "a\x7f", "\xc3\xa4"}) {
    ASSERT_TRUE(WriteSecretFile(path_, text).ok());
    EXPECT_TRUE(ReadSecretFile(path_).ok());
    const auto read = ReadTokenFile(path_);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().code, Code::kInvalid);
    EXPECT_EQ(read.error().message.find(path_ + " holds no token"), 0u) << read.error().message;
  }
}

TEST_F(SecretFileTest, OfOneThatIsBelievedTheOwnerCountsToo) {
  ASSERT_TRUE(WriteFileAtomically(path_, "", 0600).ok());
  EXPECT_EQ(ReadOwnFile(path_, 4).value(), "");
  ASSERT_TRUE(WriteFileAtomically(path_, "12345", 0600).ok());
  EXPECT_EQ(ReadOwnFile(path_, 5).value(), "12345");
  EXPECT_EQ(ReadOwnFile(path_, 4).error().code, Code::kInvalid);
  ASSERT_EQ(chmod(path_.c_str(), 0620), 0);
  EXPECT_EQ(ReadOwnFile(path_, 5).error().code, Code::kDenied);
  ASSERT_EQ(chmod(path_.c_str(), 0600), 0);
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  ASSERT_EQ(chown(path_.c_str(), 65534, 65534), 0);
  const auto foreign = ReadOwnFile(path_, 5);
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().code, Code::kDenied);
  EXPECT_NE(foreign.error().message.find("is another user's"), std::string::npos);
}

}  // namespace
}  // namespace trainctl::base
