#include "client/litgpt/convert.h"

#include <algorithm>
#include <utility>

#include "client/litgpt/draft.h"
#include "client/litgpt/sections.h"

namespace trainctl::client {
namespace {

constexpr const char* kPrecisions[] = {"32-true", "bf16-true", "bf16-mixed"};
constexpr int64_t kLongest =
    2048;  // of rows where LitGPT sets no limit: the context of the LLaMA family

bool IsLora(const LitgptSource& source) {
  if (source.method != LitgptMethod::kUnsaid) return source.method == LitgptMethod::kLora;
  return std::any_of(source.settings.begin(), source.settings.end(),
                     [](const LitgptSetting& setting) {
                       return setting.key.starts_with("lora_") || setting.key == "quantize";
                     });
}

void ConvertModel(const LitgptSource& source, LitgptDraft* draft) {
  const std::optional<std::string> given = draft->Take("checkpoint_dir");
  if (!given)
    return draft->Refuse("checkpoint_dir",
                         "the model's folder, as checkpoint_dir in the file or behind the command");
  std::string path = *given;
  if (!source.exists(path) && path.front() != '/' && !path.starts_with("checkpoints/")) {
    path = "checkpoints/" + path;
    if (!source.exists(path)) {
      draft->NoteOf("checkpoint_dir", "not here; LitGPT would download it to " + path +
                                          ": put the model's Hugging Face folder there");
    }
  }
  draft->job["model"] = {{"path", source.place_path(path)}};
}

void ConvertPrecision(LitgptDraft* draft) {
  const std::optional<std::string> precision = draft->Take("precision");
  if (!precision)
    draft->Note("precision is not given: bf16-mixed, LitGPT's own choice on GPUs that have bf16");
  const std::string name = precision.value_or("bf16-mixed");
  if (std::find(std::begin(kPrecisions), std::end(kPrecisions), name) == std::end(kPrecisions)) {
    draft->Refuse("precision", "32-true, bf16-true or bf16-mixed");
  }
  draft->job["precision"] = name;
}

// More than one device is FSDP over blocks with activation checkpointing there, for full and LoRA.
void ConvertDevices(LitgptDraft* draft) {
  Json devices = draft->Value("devices", 1);
  if (devices == "auto" || devices == -1) {
    draft->NoteOf("devices",
                  "\"auto\" takes all GPUs of the machine there; a job says how many: 1 here, "
                  "--devices N changes it");
    devices = 1;
  }
  const Json nodes = draft->Value("num_nodes", 1);
  if (!devices.is_number_integer()) return draft->Refuse("devices", "a whole number or \"auto\"");
  if (!nodes.is_number_integer()) return draft->Refuse("num_nodes", "a whole number");
  const int64_t total = devices.get<int64_t>() * nodes.get<int64_t>();
  if (nodes != 1)
    draft->NoteOf("num_nodes", "devices counts those of all hosts here: " + std::to_string(total));
  draft->job["devices"] = total;
  if (total == 1) return;
  draft->job["strategy"] = "fsdp";
  draft->job["sharding"] = "full";
  draft->job["activation_checkpointing"] = true;
  draft->Note(
      "several devices: FSDP over blocks with activation checkpointing, as LitGPT does; "
      "\"strategy\": \"ddp\" where the model fits");
}

void ConvertTrain(LitgptDraft* draft) {
  Json train = Json::object();
  train["global_batch_size"] = draft->Value("train.global_batch_size", 16);
  train["micro_batch_size"] = draft->Value("train.micro_batch_size", 1);
  train["epochs"] = draft->Value("train.epochs", 5);
  if (const auto steps = draft->Whole("train.max_steps")) train["max_steps"] = *steps;
  const std::optional<int64_t> length = draft->Whole("train.max_seq_length");
  if (!length) {
    draft->Note("train.max_seq_length is not given, which is no limit in LitGPT; it is " +
                std::to_string(kLongest) + " here: rows that are longer are cut");
  }
  train["max_seq_length"] = length.value_or(kLongest);
  const Json fraction = draft->Value("train.lr_warmup_fraction", nullptr),
             steps = draft->Value("train.lr_warmup_steps", nullptr);
  if (!fraction.is_null() && fraction != 0) {
    if (!steps.is_null() && steps != 0)
      draft->Refuse("train.lr_warmup_fraction", "only one of it and train.lr_warmup_steps");
    train["lr_warmup_fraction"] = fraction;
    draft->NoteOf("train.lr_warmup_fraction",
                  "a share of the whole run here, of an epoch in LitGPT");
  } else {
    train["lr_warmup_steps"] = steps.is_null() ? Json(100) : steps;
  }
  if (const Json norm = draft->Value("train.max_norm", nullptr); !norm.is_null())
    train["max_norm"] = norm;
  draft->job["train"] = std::move(train);
}

// An iteration of LitGPT's evaluation is one micro batch.
void ConvertEval(bool lora, LitgptDraft* draft) {
  Json eval = {{"every_steps", draft->Value("eval.interval", lora ? 100 : 600)}};
  const int64_t iterations = draft->Whole("eval.max_iters").value_or(100);
  const Json& micro = draft->job["train"]["micro_batch_size"];
  if (micro.is_number_integer()) eval["max_rows"] = iterations * micro.get<int64_t>();
  if (const std::optional<int64_t> tokens = draft->Whole("eval.max_new_tokens")) {
    eval["max_new_tokens"] = *tokens;
    draft->NoteOf("eval.max_new_tokens",
                  "of each text with which the model continues eval.prompts; without prompts "
                  "nothing is generated");
  }
  draft->job["eval"] = std::move(eval);
}

void ConvertLora(LitgptDraft* draft) {
  static constexpr std::pair<const char*, std::vector<const char*> (*)()> kTargets[] = {
      {"lora_query", [] { return std::vector{"q"}; }},
      {"lora_key", [] { return std::vector{"k"}; }},
      {"lora_value", [] { return std::vector{"v"}; }},
      {"lora_projection", [] { return std::vector{"o"}; }},
      {"lora_mlp", [] { return std::vector{"gate", "up", "down"}; }},
      {"lora_head", [] { return std::vector{"head"}; }},
  };
  Json targets = Json::array();
  for (const auto& [key, names] : kTargets) {
    const std::string name = key;
    const Json on = draft->Value(name, name == "lora_query" || name == "lora_value");
    if (!on.is_boolean()) draft->Refuse(name, "true or false");
    for (const char* target : names()) {
      if (on == true) targets.push_back(target);
    }
  }
  if (targets.empty())
    draft->Note("LoRA on no matrix at all: none of lora_query … lora_head is true");
  draft->job["lora"] = {{"r", draft->Value("lora_r", 8)},
                        {"alpha", draft->Value("lora_alpha", 16)},
                        {"dropout", draft->Value("lora_dropout", 0.05)},
                        {"targets", targets}};
  const std::optional<std::string> quantize = draft->Take("quantize");
  if (!quantize) return;
  if (*quantize != "bnb.nf4" && *quantize != "bnb.nf4-dq")
    return draft->Refuse("quantize", "bnb.nf4 or bnb.nf4-dq");
  draft->job["quantize"] = quantize->substr(4);
  draft->Note(
      "LitGPT trains adapters of a quantized base with bitsandbytes' PagedAdamW; here it is the "
      "optimizer that the file names");
}

void ConvertOutput(const LitgptSource& source, bool lora, LitgptDraft* draft) {
  const std::string folder =
      draft->Take("out_dir").value_or(lora ? "out/finetune/lora" : "out/finetune/full");
  draft->job["output"] = {{"dir", source.place_path(folder + "/final")},
                          {"save", lora ? "merged" : "final"}};
  if (lora)
    draft->Note(
        "output.save is \"merged\", since LitGPT merges at the end; \"adapter\" keeps the adapter "
        "alone");
  if (const auto steps = draft->Whole("train.save_interval"))
    draft->job["checkpoint"] = {{"every_steps", *steps}};
}

}  // namespace

LitgptJob ConvertLitgpt(const LitgptSource& source) {
  LitgptDraft draft(source.settings);
  const bool lora = IsLora(source);
  draft.job = {{"version", 1}, {"name", source.name}, {"notes", "From LitGPT: " + source.origin}};
  ConvertModel(source, &draft);
  ConvertLitgptData(source, &draft);
  ConvertPrecision(&draft);
  ConvertDevices(&draft);
  ConvertTrain(&draft);
  ConvertLitgptOptimizer(&draft);
  if (lora) ConvertLora(&draft);
  ConvertEval(lora, &draft);
  draft.job["seed"] = draft.Value("seed", 1337);
  ConvertOutput(source, lora, &draft);
  draft.NoteTheRest();
  return {std::move(draft.job), draft.notes(), draft.problems()};
}

}  // namespace trainctl::client
