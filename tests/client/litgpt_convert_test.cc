#include <gtest/gtest.h>

#include <set>

#include "client/litgpt/command.h"
#include "client/litgpt/convert.h"
#include "client/litgpt/yaml.h"
#include "client/show/output.h"
#include "tests/client/litgpt_recipe.h"

namespace trainctl::client {
namespace {

// config_hub/finetune/tiny-llama/lora.yaml of LitGPT, as people change it in the labs.
constexpr const char* kLora = R"(# The path to the base model's checkpoint directory
checkpoint_dir: checkpoints/TinyLlama/TinyLlama-1.1B-intermediate-step-1431k-3T
out_dir: out/finetune/lora-tiny-llama-1.1b
precision: bf16-true
quantize:
devices: 1
num_nodes: 1
lora_r: 32
lora_alpha: 16
lora_dropout: 0.05
lora_query: true
lora_key: true
lora_value: true
lora_projection: true
lora_mlp: true
lora_head: true
data:
  class_path: litgpt.data.Alpaca2k
  init_args:
    mask_prompt: false
    prompt_style: alpaca
    ignore_index: -100
    seed: 42
    num_workers: 4
train:
  save_interval: 800
  log_interval: 1
  global_batch_size: 8
  micro_batch_size: 8
  lr_warmup_steps: 10
  epochs: 3
  max_tokens:
  max_steps:
  max_seq_length: 512
  tie_embeddings:
  max_norm:
  min_lr: 6.0e-05
eval:
  interval: 100
  max_new_tokens: 100
  max_iters: 100
  evaluate_example: first
logger_name: csv
seed: 1337
optimizer:
  class_path: torch.optim.AdamW
  init_args:
    lr: 0.0002
    weight_decay: 0.0
    betas:
      - 0.9
      - 0.95
)";

LitgptJob Convert(const std::string& yaml, const std::vector<std::string>& words = {}) {
  base::Result<LitgptCommand> command = ReadLitgptCommand(words);
  EXPECT_TRUE(command.ok()) << command.error().message;
  LitgptSource source{.method = command->method, .name = "tiny", .origin = "config.yaml"};
  if (!yaml.empty()) {
    const base::Result<LitgptSettings> settings = ReadLitgptYaml(yaml, "config.yaml");
    EXPECT_TRUE(settings.ok()) << settings.error().message;
    source.settings = *settings;
  }
  for (const LitgptSetting& setting : command->overrides) source.settings.push_back(setting);
  source.exists = [](const std::string&) { return true; };
  source.place_path = [](const std::string& path) { return path; };
  return ConvertLitgpt(source);
}

std::string Joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

bool Has(const std::vector<std::string>& lines, const std::string& words) {
  return Joined(lines).find(words) != std::string::npos;
}

TEST(ConvertLitgptTest, ALoraRecipeKeepsWhatItSays) {
  const LitgptJob imported = Convert(kLora);
  EXPECT_EQ(Joined(imported.problems), "");
  const Json& job = imported.job;
  EXPECT_EQ(job["model"]["path"],
            "checkpoints/TinyLlama/TinyLlama-1.1B-intermediate-step-1431k-3T");
  EXPECT_EQ(job["precision"], "bf16-true");
  EXPECT_EQ(job["lora"], Json::parse(R"({"r": 32, "alpha": 16, "dropout": 0.05,
    "targets": ["q", "k", "v", "o", "gate", "up", "down", "head"]})"));
  EXPECT_FALSE(job.contains("quantize"));
  EXPECT_EQ(
      job["train"],
      Json::parse(
          R"({"global_batch_size": 8, "micro_batch_size": 8, "epochs": 3, "max_seq_length": 512,
    "lr_warmup_steps": 10})"));
  EXPECT_EQ(job["eval"],
            Json::parse(R"({"every_steps": 100, "max_rows": 800, "max_new_tokens": 100})"));
  EXPECT_EQ(
      job["optimizer"],
      Json::parse(
          R"({"name": "adamw", "lr": 0.0002, "weight_decay": 0.0, "betas": [0.9, 0.95], "eps": 1e-8})"));
  EXPECT_EQ(job["data"], Json::parse(R"({"path": "data/alpaca2k/alpaca_2k.json", "format": "alpaca",
    "val_split_fraction": 0.05, "mask_prompt": false, "seed": 42})"));
  EXPECT_EQ(job["output"],
            Json::parse(R"({"dir": "out/finetune/lora-tiny-llama-1.1b/final", "save": "merged"})"));
  EXPECT_EQ(job["checkpoint"]["every_steps"], 800);
  EXPECT_EQ(job["seed"], 1337);
}

TEST(ConvertLitgptTest, EachKeyWithoutACounterpartIsNotedWithItsPlace) {
  const LitgptJob imported = Convert(std::string(kLora) + "wandb_project: labs\n");
  for (const char* key : {"train.log_interval (config.yaml:27:17)", "train.min_lr",
                          "eval.max_new_tokens", "eval.evaluate_example", "logger_name",
                          "data.num_workers", "data.ignore_index", "wandb_project"}) {
    EXPECT_TRUE(Has(imported.notes, key)) << key << "\n" << Joined(imported.notes);
  }
  EXPECT_FALSE(Has(imported.notes, "train.max_tokens")) << "null is no setting";
  EXPECT_FALSE(Has(imported.notes, "nothing is generated during a run"));
}

TEST(ConvertLitgptTest, NoKeyOfTheRecipesIsDroppedInSilence) {
  const std::string known = Convert(kLora).job.dump() + Joined(Convert(kLora).notes);
  // What stands in the job under another name, or is null.
  const std::set<std::string> renamed = {"num_nodes",
                                         "quantize",
                                         "data.prompt_style",
                                         "train.max_tokens",
                                         "train.max_steps",
                                         "train.tie_embeddings",
                                         "train.max_norm",
                                         "checkpoint_dir",
                                         "out_dir",
                                         "devices",
                                         "data",
                                         "optimizer",
                                         "data.seed",
                                         "data.mask_prompt",
                                         "train.save_interval",
                                         "eval.interval",
                                         "eval.max_iters"};
  const LitgptSettings settings = ReadLitgptYaml(kLora, "config.yaml").value();
  ASSERT_GT(settings.size(), 30u);
  for (const LitgptSetting& setting : settings) {
    const std::string last = setting.key.substr(setting.key.rfind('.') + 1);
    const bool is_lora = setting.key.starts_with("lora_");
    EXPECT_TRUE(is_lora || renamed.contains(setting.key) ||
                known.find("\"" + last + "\"") != std::string::npos ||
                known.find(setting.key) != std::string::npos)
        << setting.key;
  }
}

TEST(ConvertLitgptTest, WhatIsNotGivenHasLitgptsDefaults) {
  const LitgptJob imported = Convert(
      "", {"finetune_full", "/models/tiny", "--data", "JSON", "--data.json_path", "rows.json"});
  EXPECT_EQ(Joined(imported.problems), "");
  EXPECT_EQ(imported.job["train"]["global_batch_size"], 16);
  EXPECT_EQ(imported.job["train"]["micro_batch_size"], 1);
  EXPECT_EQ(imported.job["train"]["epochs"], 5);
  EXPECT_EQ(imported.job["train"]["lr_warmup_steps"], 100);
  EXPECT_EQ(
      imported.job["optimizer"],
      Json::parse(
          R"({"name": "adamw", "lr": 1e-3, "weight_decay": 0.01, "betas": [0.9, 0.999], "eps": 1e-8})"));
  EXPECT_EQ(imported.job["precision"], "bf16-mixed");
  EXPECT_EQ(imported.job["eval"]["every_steps"], 600);
  EXPECT_TRUE(Has(imported.notes, "train.max_seq_length is not given"));
  const LitgptJob lora = Convert("", {"finetune", "/models/tiny"});
  EXPECT_EQ(lora.job["lora"],
            Json::parse(R"({"r": 8, "alpha": 16, "dropout": 0.05, "targets": ["q", "v"]})"));
  EXPECT_EQ(lora.job["eval"]["every_steps"], 100);
  EXPECT_EQ(lora.job["data"]["path"], "data/alpaca/alpaca_data_cleaned_archive.json");
}

TEST(ConvertLitgptTest, OverridesOfThePastedCommandCount) {
  const LitgptJob imported =
      Convert(kLora, {"litgpt", "finetune_lora", "/models/other", "--config", "config.yaml",
                      "--train.micro_batch_size=4", "--lora_r", "8", "--optimizer.lr", "1e-4",
                      "--data.val_split_fraction", ".5", "--lora_head", "False"});
  EXPECT_EQ(Joined(imported.problems), "");
  EXPECT_EQ(imported.job["model"]["path"], "/models/other");
  EXPECT_EQ(imported.job["train"]["micro_batch_size"], 4);
  EXPECT_EQ(imported.job["lora"]["r"], 8);
  EXPECT_EQ(imported.job["lora"]["targets"].size(), 7u);
  EXPECT_EQ(imported.job["optimizer"]["lr"], 1e-4);
  EXPECT_EQ(imported.job["data"]["val_split_fraction"], 0.5);
}

TEST(ConvertLitgptTest, AnotherClassDoesNotTakeTheArgumentsOfTheEarlierOne) {
  const LitgptJob imported = Convert(kLora, {"--optimizer", "SGD", "--optimizer.lr", "1e-3"});
  EXPECT_EQ(imported.job["optimizer"],
            Json::parse(R"({"name": "sgd", "lr": 1e-3, "weight_decay": 0, "momentum": 0})"));
}

TEST(ConvertLitgptTest, SeveralDevicesAreFsdpAsInLitgpt) {
  const LitgptJob imported = Convert(kFullRecipe, {"--devices", "4"});
  EXPECT_EQ(imported.job["devices"], 4);
  EXPECT_EQ(imported.job["strategy"], "fsdp");
  EXPECT_EQ(imported.job["activation_checkpointing"], true);
  EXPECT_EQ(Convert(kFullRecipe, {"--devices", "2", "--num_nodes", "2"}).job["devices"], 4);
  const LitgptJob automatic = Convert(kFullRecipe, {"--devices", "auto"});
  EXPECT_EQ(automatic.job["devices"], 1);
  EXPECT_TRUE(Has(automatic.notes, "devices (--devices): \"auto\""));
}

TEST(ConvertLitgptTest, QuantizationKeepsItsKind) {
  EXPECT_EQ(Convert(kLora, {"--quantize", "bnb.nf4-dq"}).job["quantize"], "nf4-dq");
  EXPECT_TRUE(Has(Convert(kLora, {"--quantize", "bnb.int8-training"}).problems,
                  "--quantize: quantize: bnb.int8-training: expected bnb.nf4"));
}

TEST(ConvertLitgptTest, WhatCannotBeSaidIsAProblemWithItsPlace) {
  const LitgptJob imported = Convert(
      "checkpoint_dir: m\nprecision: 16-true\ndata: Dolly\ntrain: {max_steps: many}\noptimizer: "
      "Lion\n",
      {"finetune_full", "--optimizer.amsgrad", "true"});
  for (const char* words :
       {"config.yaml:2:12: precision: 16-true: expected 32-true, bf16-true or bf16-mixed",
        "config.yaml:3:7: data: Dolly",
        "config.yaml:4:20: train.max_steps: many: expected a whole number",
        "config.yaml:5:12: optimizer: Lion"}) {
    EXPECT_TRUE(Has(imported.problems, words)) << words << "\n" << Joined(imported.problems);
  }
  EXPECT_TRUE(Has(Convert("", {"finetune_full"}).problems, "checkpoint_dir: missing"));
}

TEST(ConvertLitgptTest, ATokenIsNeverCopied) {
  const LitgptJob imported = Convert(kFullRecipe, {"--access_token", "hf_secret"});
  EXPECT_TRUE(Has(imported.notes, "access_token"));
  EXPECT_EQ((imported.job.dump() + Joined(imported.notes)).find("hf_secret"), std::string::npos);
}

}  // namespace
}  // namespace trainctl::client
