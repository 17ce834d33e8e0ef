#include "worker/agent/artifact_reader.h"

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>

#include "common/base/file.h"
#include "common/base/saved_folder.h"
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
    Save();
  }

  // What lies in the folder is what the job wrote, but for the others.
  void Save(const std::string& others = "") {
    auto saved = base::RecordSaved(folder_.path() + "/out");
    ASSERT_TRUE(saved) << saved.error().message;
    std::erase_if(saved->files, [&](const base::SavedFile& file) { return file.path == others; });
    record_ = base::ToText(*saved);
  }

  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(base::WriteFileAtomically(folder_.path() + "/" + name, text));
  }

  base::Result<job::ArtifactPiece> Ask(const std::string& file, int64_t offset = 0) {
    return ReadArtifact({folder_.path() + "/out", file, offset, record_});
  }

  tests::TempFolder folder_;
  std::string record_;
};

TEST_F(ArtifactReaderTest, ListsTheFilesOfAFolderWithTheirSizes) {
  const base::Result<job::ArtifactPiece> piece = Ask("");
  ASSERT_TRUE(piece) << piece.error().message;
  ASSERT_EQ(piece->files.size(), 2u);
  EXPECT_EQ(piece->files[0].path, "config.json");
  EXPECT_EQ(piece->files[1].path, "sub/weights");
  EXPECT_EQ(piece->files[1].bytes, 10);
}

TEST_F(ArtifactReaderTest, CheckpointsAreNoPartOfTheModelBesideThem) {
  std::filesystem::create_directories(folder_.path() + "/out/checkpoints/step-9");
  Write("out/checkpoints/step-9/manifest.json", "{}");
  Save();
  EXPECT_EQ(Ask("")->files.size(), 2u);
}

TEST_F(ArtifactReaderTest, ReadsAFileFromAnOffsetToItsEnd) {
  EXPECT_EQ(Ask("sub/weights", 4)->data, "456789");
  EXPECT_EQ(Ask("sub/weights", 10)->data, "");
}

TEST_F(ArtifactReaderTest, AFileThatIsWrittenToInPlaceIsNotTheSavedOne) {
  const std::string path = folder_.path() + "/out/sub/weights";
  const auto saved_at = std::filesystem::last_write_time(path);
  std::fstream(path, std::ios::in | std::ios::out) << "ABCDEFGHIJ";
  std::filesystem::last_write_time(path, saved_at + std::chrono::nanoseconds(1'000));
  EXPECT_EQ(Ask("sub/weights").error().code, base::Code::kConflict);
  std::filesystem::last_write_time(path, saved_at);
  EXPECT_TRUE(Ask("sub/weights").ok()) << "as the record has it";
}

TEST_F(ArtifactReaderTest, APieceIsBounded) {
  Write("out/large", std::string(job::ArtifactPiece::kMaxBytes + 7, 'x'));
  Save();
  EXPECT_EQ(Ask("large")->data.size(), job::ArtifactPiece::kMaxBytes);
  EXPECT_EQ(Ask("large", job::ArtifactPiece::kMaxBytes)->data.size(), 7u);
}

TEST_F(ArtifactReaderTest, AFileIsListedAndReadByItsName) {
  const std::string path = folder_.path() + "/secret";
  const std::string record = base::ToText(*base::RecordSaved(path));
  EXPECT_EQ(ReadArtifact({path, "", 0, record})->files.at(0).path, "secret");
  EXPECT_EQ(ReadArtifact({path, "secret", 2, record})->data, "cret");
  EXPECT_FALSE(ReadArtifact({path, "other", 0, record}));
}

TEST_F(ArtifactReaderTest, NoPathLeadsOutOfTheFolder) {
  for (const std::string& file :
       std::vector<std::string>{"../secret", "sub/../../secret", "/etc/passwd", ".", "sub/..",
                                "sub//weights/../../../secret"}) {
    EXPECT_FALSE(Ask(file)) << file;
    record_ += "file 6 0 " + file + "\n";  // not even where a rank's word names it
    EXPECT_FALSE(Ask(file)) << file;
  }
}

TEST_F(ArtifactReaderTest, LinksAreNeitherListedNorFollowed) {
  std::filesystem::create_symlink(folder_.path() + "/secret", folder_.path() + "/out/link");
  std::filesystem::create_directory_symlink(folder_.path(), folder_.path() + "/out/up");
  Save();
  EXPECT_EQ(Ask("")->files.size(), 2u);
  EXPECT_FALSE(Ask("link"));
  EXPECT_FALSE(Ask("up/secret"));
}

TEST_F(ArtifactReaderTest, AFolderReplacedByALinkServesNothing) {
  std::filesystem::rename(folder_.path() + "/out", folder_.path() + "/away");
  std::filesystem::create_directories(folder_.path() + "/elsewhere/sub");
  Write("elsewhere/sub/weights", "9876543210");
  std::filesystem::create_directory_symlink(folder_.path() + "/elsewhere", folder_.path() + "/out");
  for (const std::string file : {"", "sub/weights", "config.json"}) {
    const base::Result<job::ArtifactPiece> piece = Ask(file);
    ASSERT_FALSE(piece) << file;
    EXPECT_EQ(piece.error().code, base::Code::kConflict) << piece.error().message;
  }
}

TEST_F(ArtifactReaderTest, APartOfThePathReplacedByALinkServesNothing) {
  std::filesystem::rename(folder_.path() + "/out/sub", folder_.path() + "/sub");
  std::filesystem::create_directory_symlink(folder_.path() + "/sub", folder_.path() + "/out/sub");
  EXPECT_FALSE(Ask("sub/weights")) << "though it is the very file";
}

TEST_F(ArtifactReaderTest, AFileThatWasReplacedIsNotServed) {
  Write("out/sub/weights", "9876543210");
  EXPECT_EQ(Ask("sub/weights").error().code, base::Code::kConflict);
  EXPECT_TRUE(Ask("config.json"));
}

TEST_F(ArtifactReaderTest, WhatTheJobDidNotWriteIsNotServed) {
  Save("sub/weights");
  ASSERT_EQ(Ask("")->files.size(), 1u);
  EXPECT_EQ(Ask("")->files[0].path, "config.json");
  EXPECT_EQ(Ask("sub/weights").error().code, base::Code::kNotFound);
}

TEST_F(ArtifactReaderTest, WithoutARecordNothingIsServed) {
  record_.clear();
  EXPECT_EQ(Ask("").error().code, base::Code::kInvalid);
  EXPECT_EQ(Ask("config.json").error().code, base::Code::kInvalid);
}

TEST_F(ArtifactReaderTest, WhatIsGoneIsSaid) {
  std::filesystem::remove(folder_.path() + "/out/config.json");
  EXPECT_EQ(Ask("config.json").error().code, base::Code::kNotFound);
  std::filesystem::remove_all(folder_.path() + "/out");
  const base::Result<job::ArtifactPiece> piece = Ask("");
  ASSERT_FALSE(piece);
  EXPECT_EQ(piece.error().code, base::Code::kNotFound);
  EXPECT_THAT(piece.error().message, HasSubstr("/out: No such file or directory"));
}

TEST_F(ArtifactReaderTest, AFolderIsNoFile) {
  record_ += "file 0 0 sub\n";
  EXPECT_EQ(Ask("sub").error().code, base::Code::kConflict);
}

// A mount that hangs: reads of it return only when the test lets them.
class HangingReads : public testing::Test {
 protected:
  static base::Result<job::ArtifactPiece> Read(std::shared_future<void> gate,
                                               const job::ArtifactQuestion& question) {
    if (question.path == "/hung") gate.wait();
    return job::ArtifactPiece{{}, question.path};
  }

  std::promise<void> open_;
  std::shared_future<void> gate_ = open_.get_future().share();
  boost::asio::io_context io_;
  std::optional<ArtifactReader> reader_{
      std::in_place, io_, [gate = gate_](const auto& question) { return Read(gate, question); },
      std::chrono::seconds(1)};
};

TEST_F(HangingReads, AreGivenUpAndHoldUpNoOther) {
  std::vector<std::string> answers;
  const auto note = [&](const base::Result<job::ArtifactPiece>& piece) {
    answers.push_back(piece ? piece->data : piece.error().message);
  };
  reader_->Ask({"/hung", "file", 0, ""}, note);
  reader_->Ask({"/good", "file", 0, ""}, note);
  io_.run();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0], "/good");
  EXPECT_THAT(answers[1], HasSubstr("/hung does not answer"));
  open_.set_value();
}

TEST_F(HangingReads, OfOneOwnerLeaveThreadsAndPlacesForOthers) {
  std::vector<std::string> answers, refusals;
  const auto ask = [&](const std::string& path, const std::string& owner) {
    reader_->Ask({path, "file", 0, "", owner}, [&](const base::Result<job::ArtifactPiece>& piece) {
      if (piece) answers.push_back(piece->data);
      if (!piece && piece.error().code == base::Code::kExhausted)
        refusals.push_back(piece.error().message);
    });
  };
  for (size_t i = 0; i < ArtifactReader::kMaxWaiting; ++i) ask("/hung", "anna");
  EXPECT_EQ(refusals.size(), ArtifactReader::kMaxWaiting - ArtifactReader::kMaxThreadsOfOwner -
                                 ArtifactReader::kMaxWaitingOfOwner);
  EXPECT_THAT(refusals.at(0), HasSubstr("of what anna has saved"));
  ask("/good", "bob");
  io_.run();
  EXPECT_EQ(answers, std::vector<std::string>{"/good"});
  open_.set_value();
}

TEST_F(HangingReads, DoNotHoldUpTheEnd) {
  reader_->Ask({"/hung", "file", 0, ""}, [](const auto&) { FAIL() << "nobody listens"; });
  reader_.reset();
  open_.set_value();
  io_.run();
}

}  // namespace
}  // namespace trainctl::agent
