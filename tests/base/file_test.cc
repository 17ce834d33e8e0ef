#include "common/base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace trainctl::base {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class File : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "trainctl-file-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  size_t Entries() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  std::string folder_;
};

TEST_F(File, WhatWasWrittenIsReadBack) {
  const std::string content("a\0b\n\xff", 5);
  ASSERT_TRUE(WriteFileAtomically(Path("f"), content).ok());
  EXPECT_EQ(*ReadFile(Path("f"), 100), content);
}

TEST_F(File, WritingReplacesTheOldContentWhole) {
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "a much longer content").ok());
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "short").ok());
  EXPECT_EQ(*ReadFile(Path("f"), 100), "short");
}

TEST_F(File, WritingLeavesNoTemporaryFile) {
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "x").ok());
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(File, AFailedWriteKeepsWhatWasThereAndLeavesNoTemporaryFile) {
  fs::create_directories(Path("d/full"));
  const Status status = WriteFileAtomically(Path("d"), "x");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr(Path("d")));
  EXPECT_TRUE(fs::is_directory(Path("d/full")));
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(File, WritingIntoAMissingFolderNamesPathAndReason) {
  const Status status = WriteFileAtomically(Path("none/f"), "x");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kNotFound);
  EXPECT_THAT(status.error().message, HasSubstr(Path("none/f")));
  EXPECT_THAT(status.error().message, HasSubstr("No such file or directory"));
}

TEST_F(File, TheModeIsThatOfTheNewFile) {
  ASSERT_TRUE(WriteFileAtomically(Path("secret"), "x", 0600).ok());
  struct stat info{};
  ASSERT_EQ(stat(Path("secret").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
}

TEST_F(File, ConcurrentWritersLeaveOneWholeContent) {
  const std::string a(100'000, 'a'), b(100'000, 'b');
  std::vector<std::thread> writers;
  for (const std::string& content : {a, b, a, b}) {
    writers.emplace_back(
        [&, content] { EXPECT_TRUE(WriteFileAtomically(Path("f"), content).ok()); });
  }
  for (std::thread& writer : writers) writer.join();
  const std::string result = *ReadFile(Path("f"), 200'000);
  EXPECT_TRUE(result == a || result == b);
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(File, AMissingFileIsNotFound) {
  const auto result = ReadFile(Path("none"), 10);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kNotFound);
  EXPECT_EQ(result.error().message, "cannot open " + Path("none") + ": No such file or directory");
}

TEST_F(File, AFileOfTheBoundIsReadAndOneByteMoreIsNot) {
  ASSERT_TRUE(WriteFileAtomically(Path("f"), "12345").ok());
  EXPECT_TRUE(ReadFile(Path("f"), 5).ok());
  const auto result = ReadFile(Path("f"), 4);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kExhausted);
  EXPECT_THAT(result.error().message, HasSubstr("larger than 4 bytes"));
}

TEST_F(File, AFolderIsNoFile) {
  const auto result = ReadFile(folder_, 10);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kInvalid);
}

TEST_F(File, FilesWithoutASizeAreReadToTheirEnd) {
  EXPECT_THAT(*ReadFile("/proc/self/status", 1 << 20), HasSubstr("Pid:"));
}

}  // namespace
}  // namespace trainctl::base
