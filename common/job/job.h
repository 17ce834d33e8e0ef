// The job: what a person asks for, as plain structs. The JSON file's schema is schema.h; reading is
// job_json.h; checking is check.h. Field names are the JSON keys. nullopt stands for JSON null.
// Thread-safe: values.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace trainctl::job {

enum class Precision { k32True, kBf16True, kBf16Mixed };
enum class EngineKind { kFused, kReference };
enum class StrategyKind { kAuto, kSingle, kDdp, kFsdp };
enum class Sharding { kFull, kGradOp };
enum class FsdpUnit { kBlock, kModel };
enum class ModelInit { kPretrained, kRandom };
enum class DataFormat { kAlpaca, kText, kPlain, kBin, kChat, kCompletion, kCaptions };
enum class ChatTemplate { kChatml, kLlama3, kMistral, kQwen, kZephyr, kAlpaca };
enum class OptimizerKind { kAdamW, kSgd, kAdamW8bit };
enum class LrSchedule { kCosine, kLinear, kConstant };
enum class LrScaling { kNone, kLinear };
enum class Quantize { kNf4, kNf4Dq };
enum class Save { kNone, kFinal, kAdapter, kMerged };
enum class WeightsType { kFloat32, kBfloat16, kFloat16 };
enum class OnNan { kStop, kContinue };
enum class OnBrokenPicture { kRefuse, kSkip };
enum class Expect { kOom, kSucceeded };
enum class After { kOk, kAny };  // how a job that another follows is to end

struct ModelSpec {
  std::string path;  // a Hugging Face directory
  ModelInit init = ModelInit::kPretrained;
};

struct DataSpec {
  std::string path;
  DataFormat format = DataFormat::kAlpaca;
  std::optional<std::string> split;  // of a folder's, the one that trains; null: it has one
  std::optional<int64_t> max_rows;
  double val_split_fraction = 0;
  std::optional<std::string> val_path;   // whose rows validate; null: those of a share of path
  std::optional<std::string> val_split;  // of val_path, or of path, the one that validates
  OnBrokenPicture on_broken_picture = OnBrokenPicture::kRefuse;
  std::optional<ChatTemplate> chat_template;   // "template" of chat; null: the tokenizer's own
  std::map<std::string, std::string> columns;  // what a format calls a key → what the file calls it
  bool mask_prompt = false;                    // a file that is silent: MasksPrompts(format)
  int64_t seed = 42;
};

// Whether a job file that says nothing of data.mask_prompt trains on the answers only.
constexpr bool MasksPrompts(DataFormat format) {
  return format == DataFormat::kChat || format == DataFormat::kCompletion;
}

// Whether rows of their own validate.
inline bool HasValidationData(const DataSpec& data) { return data.val_path || data.val_split; }
inline bool Validates(const DataSpec& data) {
  return data.val_split_fraction > 0 || HasValidationData(data);
}

struct TrainSpec {
  std::optional<int64_t>
      global_batch_size;  // exactly one of these two, or neither (then accumulation is 1)
  std::optional<int64_t> accumulate_grad_batches;  //
  std::optional<int64_t> micro_batch_size;         // nullopt = "auto"
  int64_t epochs = 1;
  std::optional<int64_t> max_steps;  // optimizer steps
  int64_t max_seq_length = 512;
  bool group_by_length = false;  // micro batches of rows of similar length
  bool packing = false;          // several rows in a sequence of max_seq_length
  LrSchedule lr_schedule = LrSchedule::kCosine;
  std::optional<int64_t> lr_warmup_steps;  // exclusive with lr_warmup_fraction; neither: 0 steps
  std::optional<double> lr_warmup_fraction;
  std::optional<double> max_norm;
  OnNan on_nan = OnNan::kStop;
};

struct OptimizerSpec {
  OptimizerKind name = OptimizerKind::kAdamW;
  double lr = 2e-4;
  LrScaling lr_scaling = LrScaling::kNone;
  double weight_decay = 0;
  std::array<double, 2> betas = {0.9, 0.95};
  double eps = 1e-8;
  double momentum = 0;
};

struct LoraSpec {
  int64_t r = 32;
  double alpha = 16;
  double dropout = 0.05;
  std::vector<std::string> targets;  // of q k v o gate up down head, or of another part of the
                                     // model: vision.qkv; empty = all
};

// Texts of a job's evaluations are kept of the first, and of so many of the newest.
inline constexpr int64_t kNewestTextsKept = 17;

struct EvalSpec {
  std::optional<int64_t> every_steps;  // null: only at the end
  std::optional<int64_t> max_rows;
  std::vector<std::string> prompts;  // that the model continues at each evaluation
  bool raw_prompts = false;          // as they are, also where the data are chats (PromptsAreTurns)
  std::vector<std::string> images;   // of a job that does not train: the picture of each prompt
  int64_t max_new_tokens = 64;       // of each continuation
  double temperature = 0;            // 0: always the likeliest token
};

struct OutputSpec {
  std::optional<std::string> dir;
  Save save = Save::kNone;
  std::optional<WeightsType> dtype;  // of a saved model; null: by the precision (SavedTypeOf)
};

struct CheckpointSpec {
  std::optional<int64_t> every_steps;
  int64_t keep_last = 2;
  bool keep_best = false;
  std::optional<std::string> resume_from;
  std::optional<std::string> resume_job;  // whose checkpoints these are, and whose output.dir this
                                          // job may go on in
};

struct ProfileSpec {
  int64_t steps = 3;
  int64_t skip = 5;  // of each attempt, before them
};

constexpr int64_t kDefaultPriority = 50;

struct ResourceSpec {
  std::optional<int64_t> gpu_memory_limit_bytes;
  std::map<std::string, std::string> constraints;  // "gpu.memory": ">=40GiB", "host": "=node1"
  std::optional<int64_t> time_limit_seconds;
  int64_t step_timeout_seconds = 600;
  std::optional<int64_t> priority;  // 0 … 100, higher first; null: by the site's policy
  bool preemptible = false;         // a job of higher priority may take its devices
  int64_t max_restarts = 0;
  std::map<std::string, After> after;  // ids of jobs that end before this one starts
  std::optional<std::string> lease;
};

// activation_checkpointing: false = 0, true = 1 (every block), n = every n-th block.
struct JobSpec {
  int64_t version = 1;
  std::string name;
  std::map<std::string, std::string> tags;
  std::string notes;
  ModelSpec model;
  DataSpec data;
  Precision precision = Precision::k32True;
  int64_t devices = 1;
  bool exclusive = false;  // no other job on the hosts of its devices while it runs
  EngineKind engine = EngineKind::kFused;
  bool deterministic = false;
  StrategyKind strategy = StrategyKind::kAuto;
  Sharding sharding = Sharding::kFull;
  FsdpUnit fsdp_unit = FsdpUnit::kBlock;
  bool offload_optimizer = false;
  int64_t activation_checkpointing = 0;
  TrainSpec train;
  OptimizerSpec optimizer;
  std::optional<LoraSpec> lora;
  std::optional<Quantize> quantize;
  std::vector<std::string> freeze;  // parts of the model that are not trained; lora freezes all
  EvalSpec eval;
  int64_t seed = 1337;
  OutputSpec output;
  CheckpointSpec checkpoint;
  std::optional<ProfileSpec> profile;
  std::vector<std::string> track;  // programs that curves are written for while it trains
  ResourceSpec resources;
  std::optional<Expect> expect;
};

// What the job asks for, or the default.
inline int64_t PriorityOf(const JobSpec& job) {
  return job.resources.priority.value_or(kDefaultPriority);
}

// Whether the chat template of the data writes each of eval.prompts as a user's turn, which the
// model answers. Else it goes on from them as they are.
inline bool PromptsAreTurns(const JobSpec& job) {
  return job.data.format == DataFormat::kChat && !job.eval.raw_prompts;
}

// One experiment of a lab file: base with its "set" applied. A lab file is a group.
struct LabSpec {
  std::string name;  // file stem
  std::vector<JobSpec> experiments;
};

}  // namespace trainctl::job
