#include "common/base/saved_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace trainctl::base {
namespace {

class SavedFolderTest : public testing::Test {
 protected:
  SavedFolderTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "saved-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~SavedFolderTest() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(folder_ + "/" + name).parent_path());
    std::ofstream(folder_ + "/" + name) << text;
  }

  std::string folder_;
};

TEST_F(SavedFolderTest, ARecordIsReadAsItWasWritten) {
  Write("config.json", "{}");
  Write("sub/with space", "abc");
  Write("checkpoints/step-1/manifest.json", "{}");
  const Result<SavedRecord> record = RecordSaved(folder_);
  ASSERT_TRUE(record) << record.error().message;
  const Result<SavedRecord> again = ParseSavedRecord(ToText(*record));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(ToText(*again), ToText(*record));
  ASSERT_EQ(again->files.size(), 2u);
  EXPECT_EQ(again->Bytes(), 5);
  ASSERT_NE(again->Find("sub/with space"), nullptr);
  EXPECT_EQ(*again->Find("sub/with space"), *record->Find("sub/with space"));
  EXPECT_EQ(again->Find("sub/with space")->bytes, 3);
  EXPECT_GT(again->Find("sub/with space")->modified_ns, 0);
  EXPECT_EQ(again->Find("checkpoints/step-1/manifest.json"), nullptr);
}

TEST_F(SavedFolderTest, AnotherFolderIsNotTheSavedOne) {
  Write("other/weights", "abc");
  const Result<SavedRecord> record = RecordSaved(folder_);
  struct stat status{};
  ASSERT_EQ(::stat(folder_.c_str(), &status), 0);
  EXPECT_TRUE(record->IsOf(status));
  ASSERT_EQ(::stat((folder_ + "/other").c_str(), &status), 0);
  EXPECT_FALSE(record->IsOf(status));
}

TEST(SavedRecord, OneOfAnEarlierVersionHasNoTimes) {
  const Result<SavedRecord> record = ParseSavedRecord("folder 1 2 b\nfile 3 4 5 6\n");
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->files.at(0), (SavedFile{"5 6", 3, 4, 0}));
}

TEST(SavedRecord, OtherTextsAreNone) {
  for (const char* text :
       {"", "folder", "folder 1 2", "file 1 2 a", "folder 1 2 b\nfile x 2 a\n",
        "folder 1 2 b\nfile 1 2\n", "folder 1 2 b\nsaved 1 2 a\n", "folder 1 2 b\nrubbish\n"})
    EXPECT_FALSE(ParseSavedRecord(text)) << text;
}

}  // namespace
}  // namespace trainctl::base
