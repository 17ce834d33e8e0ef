#include <filesystem>

#include "client/exit_code.h"
#include "client/litgpt/command.h"
#include "client/litgpt/yaml.h"
#include "client/show/output.h"
#include "common/job/job_json.h"
#include "tests/client/client_test.h"
#include "tests/client/litgpt_recipe.h"
#include "tests/client/scratch_folder.h"

namespace trainctl::client {
namespace {

TEST(ImportLitgptTest, BadYamlIsToldWithLineAndColumn) {
  for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
           {"train:\n  epochs: [1, 2\nseed: 3\n", "x.yaml:3:"},
           {"a: 1\n b: 2\n", "x.yaml:2:"},
           {"- 1\n", "x.yaml:1:1: expected a map of settings"},
           {"train: {epochs: 1, epochs: 2}\n", "the key 'train.epochs' stands twice"},
           {"a: \"\\q\"\n", "x.yaml:1:"},
           {"x: &a [*a]\n", "x.yaml:1:"},
       }) {
    const base::Result<LitgptSettings> read = ReadLitgptYaml(text, "x.yaml");
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_NE(read.error().message.find(words), std::string::npos) << read.error().message;
  }
}

TEST(ImportLitgptTest, YamlThatExpandsWithoutBoundIsRefused) {
  std::string text = "a: &a {b: 1, c: 2, d: 3, e: 4, f: 5, g: 6, h: 7, i: 8}\n";
  for (char name = 'b'; name < 'i'; ++name) {
    const std::string before(1, static_cast<char>(name - 1));
    text += std::string(1, name) + ": &" + name + " {b: *" + before + ", c: *" + before + ", d: *" +
            before + ", e: *" + before + "}\n";
  }
  const base::Result<LitgptSettings> read = ReadLitgptYaml(text, "x.yaml");
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find("more than 1000 settings"), std::string::npos)
      << read.error().message;
}

TEST(ImportLitgptTest, APastedLineIsReadWhole) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"litgpt", "finetune_full", "CKPT", "--config", "a.yaml", "--train.epochs", "3"},
           {"CUDA_VISIBLE_DEVICES=0", "python", "-m", "litgpt", "finetune", "full", "CKPT",
            "--config=a.yaml", "--train.epochs=3"},
           {"litgpt finetune_full CKPT \\\n  --config a.yaml \\\n  --train.epochs 3"},
           {"finetune_full", "a.yaml", "CKPT", "--train.epochs", "3"},
       }) {
    const base::Result<LitgptCommand> command = ReadLitgptCommand(words);
    ASSERT_TRUE(command.ok()) << command.error().message;
    EXPECT_EQ(command->method, LitgptMethod::kFull);
    EXPECT_EQ(command->config, "a.yaml");
    ASSERT_EQ(command->overrides.size(), 2u);
    EXPECT_EQ(command->overrides[0].value, "CKPT");
    EXPECT_EQ(command->overrides[1].key, "train.epochs");
  }
}

TEST(ImportLitgptTest, ACommandThatIsNoneOfOursIsRefused) {
  for (const auto& [words, said] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"litgpt", "pretrain", "pythia"}, "litgpt pretrain has no counterpart"},
           {{"finetune", "adapter_v2", "CKPT"}, "finetune_adapter_v2 has no counterpart"},
           {{"finetune_lora", "CKPT", "--lora_r"}, "--lora_r: expected a value"},
           {{"finetune_lora", "A", "B"}, "two models: A and B"},
           {{"a.yaml", "b.yaml"}, "two configuration files"},
       }) {
    const base::Result<LitgptCommand> command = ReadLitgptCommand(words);
    ASSERT_FALSE(command.ok()) << said;
    EXPECT_NE(command.error().message.find(said), std::string::npos) << command.error().message;
  }
}

class ImportTest : public ClientTest {
 protected:
  ScratchFolder folder_;
};

TEST_F(ImportTest, TheJobFileIsOneThatSubmitTakes) {
  const std::string config = folder_.Write("full.yaml", kFullRecipe);
  const Ended ended = Trainctl(
      {"import", "litgpt", config, "--train.micro_batch_size", "4", "-o", folder_ / "job.json"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  const job::ReadJob read =
      job::ReadJobFile(folder_.Read("job.json"), {.base_directory = folder_.path()});
  ASSERT_TRUE(read.job) << job::Format(read.problems, "job.json");
  EXPECT_EQ(read.job->name, "full");
  EXPECT_EQ(read.job->train.micro_batch_size, 4);
  EXPECT_EQ(read.job->model.path, "/models/TinyLlama-1.1B");
  EXPECT_EQ(read.job->data.path, std::filesystem::current_path() / "rows.json");
  EXPECT_EQ(Trainctl({"import", "litgpt", config, "-o", folder_ / "job.json"}).code, kExitFailure);
  EXPECT_EQ(Trainctl({"import", "litgpt", config, "-o", folder_ / "job.json", "--overwrite"}).code,
            0);
}

TEST_F(ImportTest, WithoutAFileTheJobGoesToStdoutAndNotesToStderr) {
  const Ended ended =
      Trainctl({"import", "litgpt", "litgpt", "finetune_full", folder_.path(), "--config",
                folder_.Write("full.yaml", kFullRecipe), "--logger_name", "csv"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(Json::parse(ended.out)["model"]["path"], folder_.path());
  EXPECT_EQ(ended.err.find("note: "), 0u);
}

TEST_F(ImportTest, WhatTheCheckRefusesIsNotWritten) {
  const Ended ended = Trainctl({"import", "litgpt", folder_.Write("full.yaml", kFullRecipe),
                                "--train.micro_batch_size", "5", "-o", folder_ / "job.json"});
  EXPECT_EQ(ended.code, kExitUsage);
  EXPECT_NE(ended.err.find("train.global_batch_size"), std::string::npos) << ended.err;
  EXPECT_FALSE(folder_.Has("job.json"));
}

TEST_F(ImportTest, AnOptionThatLitgptDoesNotHaveIsAnErrorWithTheNearest) {
  const Ended ended = Trainctl({"import", "litgpt", folder_.Write("full.yaml", kFullRecipe),
                                "--train.micro_batch_sise", "4", "-o", folder_ / "job.json"});
  EXPECT_EQ(ended.code, kExitUsage);
  EXPECT_NE(ended.err.find("--train.micro_batch_sise: LitGPT has no such option; did you mean "
                           "'train.micro_batch_size'?"),
            std::string::npos)
      << ended.err;
  EXPECT_FALSE(folder_.Has("job.json"));
}

TEST_F(ImportTest, WrongWordsAndMissingFilesAreSaid) {
  EXPECT_EQ(Trainctl({"import", "axolotl", "a.yaml"}).code, kExitUsage);
  EXPECT_EQ(Trainctl({"import", "litgpt"}).code, kExitUsage);
  EXPECT_EQ(Trainctl({"import"}).code, kExitUsage);
  EXPECT_EQ(Trainctl({"import", "litgpt", folder_ / "none.yaml"}).code, kExitNotFound);
  EXPECT_EQ(Trainctl({"import", "--help"}).code, 0);
}

}  // namespace
}  // namespace trainctl::client
