#include "common/base/regular_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "common/base/error_number.h"
#include "common/base/file.h"

namespace trainctl::base {
namespace {

using ::testing::HasSubstr;

class OpenRegularTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Fault(const std::string& name, Code code) const {
    const Result<Descriptor> file = OpenRegular(Path(name));
    if (file) return "opened";
    EXPECT_EQ(file.error().code, code) << file.error().message;
    return file.error().message;
  }

  void SetUp() override {
    folder_ = testing::TempDir() + "open_regular_" + std::to_string(::getpid());
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
};

TEST_F(OpenRegularTest, AFileIsOpenToRead) {
  ASSERT_TRUE(WriteFileAtomically(Path("file"), "abc"));
  const Result<Descriptor> file = OpenRegular(Path("file"));
  ASSERT_TRUE(file) << file.error().message;
  char bytes[4] = {};
  EXPECT_EQ(::read(file->get(), bytes, sizeof bytes), 3);
  EXPECT_STREQ(bytes, "abc");
}

// A blocking open of a FIFO would wait for its writer.
TEST_F(OpenRegularTest, WhatIsNoRegularFileIsRefusedAtOnce) {
  ASSERT_EQ(::mkfifo(Path("fifo").c_str(), 0600), 0);
  EXPECT_THAT(Fault("fifo", Code::kInvalid), HasSubstr("fifo is a FIFO, expected a regular file"));
  EXPECT_THAT(Fault(".", Code::kInvalid), HasSubstr("is a directory, expected a regular file"));
  EXPECT_EQ(Fault("none", Code::kNotFound),
            "cannot open " + Path("none") + ": No such file or directory");
  EXPECT_THAT(Fault("fifo/below", Code::kNotFound), HasSubstr("Not a directory"));
}

TEST(CodeOfErrno, TellsWhatACallerReactsTo) {
  for (const int error : {ENOENT, ENOTDIR}) EXPECT_EQ(CodeOfErrno(error), Code::kNotFound);
  for (const int error : {ENOSPC, EDQUOT}) EXPECT_EQ(CodeOfErrno(error), Code::kExhausted);
  for (const int error : {EINTR, EMFILE, ENFILE, ENOMEM})
    EXPECT_EQ(CodeOfErrno(error), Code::kUnavailable);
  for (const int error : {EIO, EACCES, EROFS, ELOOP}) EXPECT_EQ(CodeOfErrno(error), Code::kIo);
  EXPECT_EQ(CodeOfErrno(EISDIR), Code::kInvalid);
  EXPECT_EQ(OsError("cannot open /a", ENOENT).message, "cannot open /a: No such file or directory");
}

}  // namespace
}  // namespace trainctl::base
