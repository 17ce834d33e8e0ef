#include <gmock/gmock.h>

#include <filesystem>

#include "common/base/file.h"
#include "common/base/saved_folder.h"
#include "tests/agent/agent_fixture.h"

namespace trainctl::tests {
namespace {

using testing::HasSubstr;

class AgentArtifactTest : public AgentFixture {
 protected:
  v1::ArtifactResult Ask(const std::string& path, const std::string& file) {
    v1::CoordinatorMessage message;
    message.mutable_artifact()->set_request_id("a1");
    message.mutable_artifact()->set_path(path);
    message.mutable_artifact()->set_file(file);
    if (const auto record = base::RecordSaved(path))
      message.mutable_artifact()->set_record(base::ToText(*record));
    const size_t before = coordinator_.told().artifacts.size();
    coordinator_.Send(message);
    coordinator_.Await("the piece",
                       [before](const auto& told) { return told.artifacts.size() > before; });
    return coordinator_.told().artifacts.back();
  }
};

TEST_F(AgentArtifactTest, ListsAndReadsWhatTheCoordinatorAsksFor) {
  StartAgent();
  ASSERT_TRUE(base::WriteFileAtomically(folder_.path() + "/weights", "0123456789"));
  const auto listed = Ask(folder_.path() + "/weights", "");
  EXPECT_EQ(listed.request_id(), "a1");
  ASSERT_EQ(listed.piece().files_size(), 1);
  EXPECT_EQ(listed.piece().files(0).bytes(), 10);
  EXPECT_EQ(Ask(folder_.path() + "/weights", "weights").piece().data(), "0123456789");
}

TEST_F(AgentArtifactTest, TellsWhatCannotBeRead) {
  StartAgent();
  const std::string path = folder_.path() + "/weights";
  ASSERT_TRUE(base::WriteFileAtomically(path, "0123456789"));
  EXPECT_THAT(Ask(path, "other").error(), HasSubstr(path + "/other was not saved"));
}

TEST_F(AgentArtifactTest, ServesNothingThatNobodyRecorded) {
  StartAgent();
  EXPECT_THAT(Ask("/no/such/model", "").error(), HasSubstr("nobody recorded"));
}

TEST_F(AgentArtifactTest, RemovesWhatTheCoordinatorAsksFor) {
  StartAgent();
  const std::string out = folder_.path() + "/out";
  std::filesystem::create_directory(out);
  ASSERT_TRUE(base::WriteFileAtomically(out + "/weights", "0123456789"));
  ASSERT_TRUE(base::WriteFileAtomically(out + "/notes", "mine"));
  base::SavedRecord record = *base::RecordSaved(out);
  std::erase_if(record.files, [](const auto& file) { return file.path == "notes"; });
  v1::CoordinatorMessage message;
  message.mutable_outputs()->set_request_id("o1");
  message.mutable_outputs()->set_path(out);
  v1::SavedPlace& saved = *message.mutable_outputs()->add_saved();
  saved.set_path(out);
  saved.set_record(base::ToText(record));
  coordinator_.Send(message);
  coordinator_.Await("the removal", [](const auto& told) { return !told.outputs.empty(); });
  const v1::OutputsResult result = coordinator_.told().outputs.back();
  EXPECT_EQ(result.request_id(), "o1");
  EXPECT_EQ(result.error(), "");
  EXPECT_EQ(result.outputs().files(), 1);
  ASSERT_EQ(result.outputs().left_size(), 1);
  EXPECT_EQ(result.outputs().left(0).why(), "stays, with notes");
  EXPECT_FALSE(std::filesystem::exists(out + "/weights"));
}

}  // namespace
}  // namespace trainctl::tests
