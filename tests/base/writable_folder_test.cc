#include "common/base/writable_folder.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "common/base/unix_account.h"

namespace trainctl::base {
namespace {

namespace fs = std::filesystem;

class WritableFolder : public testing::Test {
 protected:
  WritableFolder() { fs::create_directories(folder_); }
  ~WritableFolder() override { fs::remove_all(folder_); }

  const fs::path folder_ =
      fs::temp_directory_path() / ("writable_folder_test." + std::to_string(getpid()));
};

TEST_F(WritableFolder, AFolderThatIsNotThereYetCanBeMade) {
  EXPECT_TRUE(CheckWritableFolder(folder_ / "a/b/c").ok());
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(WritableFolder, AFileInTheWayOfAFolderIsNamed) {
  std::ofstream(folder_ / "f") << "x";
  const auto status = CheckWritableFolder(folder_ / "f/out");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message,
              testing::HasSubstr((folder_ / "f").string() + ": Not a directory"));
}

TEST_F(WritableFolder, NobodyMakesFilesAmongTheKernels) {
  for (const std::string folder : {"/proc/x", "/sys/x"}) {
    const auto status = CheckWritableFolder(folder);
    ASSERT_FALSE(status.ok()) << folder;
    EXPECT_THAT(status.error().message, testing::StartsWith(folder.substr(0, 4)));
    EXPECT_THAT(status.error().message, testing::HasSubstr("user " + UserName(::geteuid())));
  }
}

TEST_F(WritableFolder, FreeBytesAreThoseOfTheDiskThatAFolderWouldLieOn) {
  const auto bytes = FreeBytes(folder_ / "a/b/c");
  ASSERT_TRUE(bytes.ok());
  EXPECT_GT(*bytes, 0);
  EXPECT_LE(static_cast<uintmax_t>(*bytes), fs::space(folder_).capacity);
}

}  // namespace
}  // namespace trainctl::base
