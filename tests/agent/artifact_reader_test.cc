#include "worker/agent/artifact_reader.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "common/base/file.h"
#include "tests/shim/temp_folder.h"

namespace trainctl::agent {
namespace {

using testing::HasSubstr;

class ArtifactReaderTest : public testing::Test {
 protected:
  ArtifactReaderTest() {
    std::filesystem::create_directories(folder_.path() + "/out/sub");
    Write("out/config.json", "{}");
    Write("out/sub/weights", "0123456789");
    Write("secret", "secret");
  }

  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(base::WriteFileAtomically(folder_.path() + "/" + name, text));
  }

  base::Result<ArtifactPiece> Ask(const std::string& file, int64_t offset = 0) {
    return ReadArtifact({folder_.path() + "/out", file, offset});
  }

  tests::TempFolder folder_;
};

TEST_F(ArtifactReaderTest, ListsTheFilesOfAFolderWithTheirSizes) {
  const base::Result<ArtifactPiece> piece = Ask("");
  ASSERT_TRUE(piece) << piece.error().message;
  ASSERT_EQ(piece->files.size(), 2u);
  EXPECT_EQ(piece->files[0].path, "config.json");
  EXPECT_EQ(piece->files[1].path, "sub/weights");
  EXPECT_EQ(piece->files[1].bytes, 10);
}

TEST_F(ArtifactReaderTest, CheckpointsAreNoPartOfTheModelBesideThem) {
  std::filesystem::create_directories(folder_.path() + "/out/checkpoints/step-9");
  Write("out/checkpoints/step-9/manifest.json", "{}");
  EXPECT_EQ(Ask("")->files.size(), 2u);
}

TEST_F(ArtifactReaderTest, ReadsAFileFromAnOffsetToItsEnd) {
  EXPECT_EQ(Ask("sub/weights", 4)->data, "456789");
  EXPECT_EQ(Ask("sub/weights", 10)->data, "");
}

TEST_F(ArtifactReaderTest, APieceIsBounded) {
  Write("out/large", std::string(kMaxPieceBytes + 7, 'x'));
  EXPECT_EQ(Ask("large")->data.size(), kMaxPieceBytes);
  EXPECT_EQ(Ask("large", kMaxPieceBytes)->data.size(), 7u);
}

TEST_F(ArtifactReaderTest, AFileIsListedAndReadByItsName) {
  const std::string path = folder_.path() + "/secret";
  EXPECT_EQ(ReadArtifact({path, "", 0})->files.at(0).path, "secret");
  EXPECT_EQ(ReadArtifact({path, "secret", 2})->data, "cret");
  EXPECT_FALSE(ReadArtifact({path, "other", 0}));
}

TEST_F(ArtifactReaderTest, NoPathLeadsOutOfTheFolder) {
  for (const std::string& file :
       std::vector<std::string>{"../secret", "sub/../../secret", "/etc/passwd", ".", "sub/..",
                                "sub//weights/../../../secret"}) {
    const base::Result<ArtifactPiece> piece = Ask(file);
    EXPECT_FALSE(piece) << file;
  }
}

TEST_F(ArtifactReaderTest, LinksAreNeitherListedNorFollowed) {
  std::filesystem::create_symlink(folder_.path() + "/secret", folder_.path() + "/out/link");
  std::filesystem::create_directory_symlink(folder_.path(), folder_.path() + "/out/up");
  EXPECT_EQ(Ask("")->files.size(), 2u);
  EXPECT_FALSE(Ask("link"));
  EXPECT_FALSE(Ask("up/secret"));
}

TEST_F(ArtifactReaderTest, WhatIsGoneIsSaid) {
  const base::Result<ArtifactPiece> piece = ReadArtifact({folder_.path() + "/gone", "", 0});
  ASSERT_FALSE(piece);
  EXPECT_EQ(piece.error().code, base::Code::kNotFound);
  EXPECT_THAT(piece.error().message, HasSubstr("/gone: No such file or directory"));
  EXPECT_EQ(Ask("gone").error().code, base::Code::kNotFound);
}

TEST_F(ArtifactReaderTest, AFolderIsNoFile) {
  EXPECT_THAT(Ask("sub").error().message, HasSubstr("sub is no file"));
}

}  // namespace
}  // namespace trainctl::agent
