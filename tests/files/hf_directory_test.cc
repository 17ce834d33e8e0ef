#include "worker/rank/files/hf_directory.h"

#include <gmock/gmock.h>

#include "common/base/file.h"
#include "tests/files/scratch_directory.h"

namespace trainctl::files {
namespace {

TEST(HfDirectory, CompanionFilesAreCopiedUnchangedAndWeightsAreNot) {
  const ScratchDirectory from, to;
  from.Write("config.json", "{ \"odd\" :  1 }\n");
  from.Write("tokenizer.json", "{}");
  from.Write("preprocessor_config.json", "{}");
  from.Write("model.safetensors", "weights");
  from.Write("training.log", "log");
  auto copied = CopyCompanionFiles(from.path(), to.path());
  ASSERT_TRUE(copied.ok()) << copied.error().message;
  EXPECT_THAT(*copied, testing::UnorderedElementsAre("config.json", "tokenizer.json",
                                                     "preprocessor_config.json"));
  EXPECT_EQ(base::ReadFile(to.path() + "/config.json", 100).value(), "{ \"odd\" :  1 }\n");
  const std::filesystem::directory_iterator files(to.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 3);
}

TEST(HfDirectory, ADirectoryWithoutConfigIsNoModel) {
  const ScratchDirectory from, to;
  EXPECT_EQ(CopyCompanionFiles(from.path(), to.path()).error().code, base::Code::kNotFound);
}

TEST(HfDirectory, AMissingTargetIsAnErrorOfTheSystem) {
  const ScratchDirectory from;
  from.Write("config.json", "{}");
  EXPECT_EQ(CopyCompanionFiles(from.path(), "/nowhere").error().code, base::Code::kIo);
}

}  // namespace
}  // namespace trainctl::files
