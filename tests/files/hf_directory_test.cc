#include "worker/rank/files/hf_directory.h"

#include <gmock/gmock.h>

#include "common/base/file.h"
#include "tests/files/scratch_directory.h"

namespace trainctl::files {
namespace {

constexpr char kType[] = "float32";

TEST(HfDirectory, CompanionFilesAreCopiedUnchangedAndWeightsAreNot) {
  const ScratchDirectory from, to;
  from.Write("config.json", "{ \"odd\" :  1 }\n");
  from.Write("tokenizer.json", "{}");
  from.Write("preprocessor_config.json", "{}");
  from.Write("model.safetensors", "weights");
  from.Write("training.log", "log");
  auto copied = CopyCompanionFiles(from.path(), to.path(), kType);
  ASSERT_TRUE(copied.ok()) << copied.error().message;
  EXPECT_THAT(*copied, testing::UnorderedElementsAre("config.json", "tokenizer.json",
                                                     "preprocessor_config.json"));
  EXPECT_EQ(base::ReadFile(to.path() + "/config.json", 100).value(), "{ \"odd\" :  1 }\n");
  const std::filesystem::directory_iterator files(to.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 3);
}

TEST(HfDirectory, ChatTemplatesOfOtherNamesAreCopiedToo) {
  const ScratchDirectory from, to;
  from.Write("config.json", "{}");
  std::filesystem::create_directory(from.path() + "/additional_chat_templates");
  from.Write("additional_chat_templates/tool_use.jinja", "{{ tools }}");
  from.Write("additional_chat_templates/notes.txt", "none");
  const auto copied = CopyCompanionFiles(from.path(), to.path(), kType);
  ASSERT_TRUE(copied.ok()) << copied.error().message;
  const std::string copy = "additional_chat_templates/tool_use.jinja";
  EXPECT_THAT(*copied, testing::UnorderedElementsAre("config.json", copy));
  EXPECT_EQ(base::ReadFile(to.path() + "/" + copy, 100).value(), "{{ tools }}");
}

TEST(HfDirectory, ACopyHasTheRightsOfAFileThatIsMadeThere) {
  const ScratchDirectory from, to;
  from.Write("config.json", "{}");
  const std::string original = from.path() + "/config.json", copy = to.path() + "/config.json";
  std::filesystem::permissions(original, std::filesystem::perms::owner_read);
  ASSERT_TRUE(CopyCompanionFiles(from.path(), to.path(), kType).ok());
  to.Write("made", "");
  const auto rights = [](const std::string& path) {
    return std::filesystem::status(path).permissions() & ~std::filesystem::perms::group_write &
           ~std::filesystem::perms::others_write;
  };
  EXPECT_EQ(rights(copy), rights(to.path() + "/made"));
}

TEST(HfDirectory, TheCopiedConfigurationSaysTheTypeOfTheWeights) {
  const ScratchDirectory from, to;
  const auto of_copy = [&](const std::string& text) {
    from.Write("config.json", text);
    const auto copied = CopyCompanionFiles(from.path(), to.path(), kType);
    return copied.ok() ? base::ReadFile(to.path() + "/config.json", 1000).value()
                       : copied.error().message;
  };
  EXPECT_EQ(of_copy(R"({"z": 1e-05, "torch_dtype": "bfloat16", "a": [1]})"),
            "{\n  \"z\": 1e-05,\n  \"torch_dtype\": \"float32\",\n  \"a\": [\n    1\n  ]\n}\n");
  EXPECT_EQ(
      of_copy(R"({"dtype": "float32", "text_config": {"dtype": "float16"}})"),
      "{\n  \"dtype\": \"float32\",\n  \"text_config\": {\n    \"dtype\": \"float32\"\n  }\n}\n");
  for (const char* same :
       {R"({ "dtype":"float32"})", R"({"dtype": null,  "x": {"dtype": "int8"}})"})
    EXPECT_EQ(of_copy(same), same);
  EXPECT_THAT(of_copy("[]"), testing::HasSubstr("config.json: expected a JSON object"));
}

TEST(HfDirectory, ADirectoryWithoutConfigIsNoModel) {
  const ScratchDirectory from, to;
  EXPECT_EQ(CopyCompanionFiles(from.path(), to.path(), kType).error().code, base::Code::kNotFound);
}

TEST(HfDirectory, AMissingTargetIsNotFound) {
  const ScratchDirectory from;
  from.Write("config.json", "{}");
  EXPECT_EQ(CopyCompanionFiles(from.path(), "/nowhere", kType).error().code, base::Code::kNotFound);
}

}  // namespace
}  // namespace trainctl::files
