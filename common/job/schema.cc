#include "common/job/schema.h"

#include <array>
#include <iterator>
#include <type_traits>
#include <utility>

#include "common/job/after_type.h"
#include "common/job/check_job.h"
#include "common/job/data_format.h"
#include "common/job/module_names.h"
#include "common/job/optimizer.h"
#include "common/job/saved_weights.h"
#include "common/job/value_type.h"

namespace trainctl::job {
namespace {

constexpr int64_t kMostRows = int64_t{1} << 40;
constexpr int64_t kMostSteps = int64_t{1} << 40;
// micro × devices × accumulation stays within 64 bits
constexpr int64_t kLargestBatch = int64_t{1} << 24;
constexpr int64_t kMostDevices = 4096;
constexpr int64_t kLongestSequence = int64_t{1} << 20;
constexpr int64_t kLongestContinuation = 4096;
constexpr int64_t kLargestSeed = int64_t{1} << 53;  // exact in every JSON reader
constexpr int64_t kSmallestMemoryLimit = int64_t{1} << 20;

constexpr IntegerType kBatch = {.min = 1, .max = kLargestBatch};
constexpr IntegerType kCount = {.min = 1, .max = kMostSteps};
constexpr IntegerType kRows = {.min = 1, .max = kMostRows};
constexpr IntegerType kSeed = {.min = 0, .max = kLargestSeed};
constexpr RealType kNotNegative = {.min = 0};
constexpr RealType kPositive = {.min = 0, .min_is_open = true};
constexpr RealType kFraction = {.min = 0, .max = 1};
constexpr RealType kFractionBelowOne = {.min = 0, .max = 1, .max_is_open = true};
constexpr TextType kId = {.what = "an id", .min_bytes = 1, .max_bytes = 128};

// `at` gives the member of a job, const or not.
template <class ValueType, class At>
Field Row(std::string key, ValueType type, At at, std::string doc) {
  Field field{.key = std::move(key),
              .doc = std::move(doc),
              .expected = type.Expected(),
              .schema = type.Schema()};
  field.is_map = std::is_same_v<ValueType, TextMapType>;
  field.read = [type, at](const JsonNode& node, JobSpec& job) {
    auto value = type.Read(node);
    if (value) at(job) = std::move(*value);
    return value.has_value();
  };
  field.write = [type, at](const JobSpec& job) { return type.Write(at(job)); };
  field.hint = [type](const JsonNode& node) -> std::string {
    if constexpr (requires { type.Hint(node); }) return type.Hint(node);
    return "";
  };
  field.typed = [type](const std::string& text) -> JsonNode {
    if constexpr (requires { type.Typed(text); }) return type.Typed(text);
    return text;
  };
  return field;
}

Field Required(Field field) {
  field.required = true;
  return field;
}

#define AT(member) [](auto& job) -> auto& { return job.member; }

std::vector<Field> TopFields() {
  return {
      Required(Row("version", IntegerType{1, 1}, AT(version), "Version of this schema: 1.")),
      Row("name", TextType{.max_bytes = kLongestName}, AT(name),
          "Shown everywhere; the file's name without .json where it is not given."),
      Row("tags", TextMapType{}, AT(tags),
          "Words of your own to find jobs by, such as {\"lab\": \"2\"}."),
      Row("notes", TextType{}, AT(notes), "Free text, kept with the job."),
  };
}

std::vector<Field> ModelFields() {
  const TextType path = {.what = "a path", .min_bytes = 1, .max_bytes = 4096};
  const NameType<ModelInit> init = {
      {{"pretrained", ModelInit::kPretrained}, {"random", ModelInit::kRandom}}};
  return {
      Required(Row("model.path", path, AT(model.path),
                   "A Hugging Face directory on the workers' hosts, relative to the job file; or "
                   "the id of a model in their Hugging Face cache: Qwen/Qwen3-0.6B. With lora also "
                   "a folder of "
                   "peft, whose adapter is then added to its base model.")),
      Row("model.init", init, AT(model.init),
          "pretrained reads the weights; random needs config.json and a tokenizer only."),
  };
}

std::vector<Field> DataFields() {
  const TextType path = {.what = "a path", .min_bytes = 1, .max_bytes = 4096};
  const NameType<DataFormat> format = {{std::begin(kDataFormats), std::end(kDataFormats)}};
  const NameType<ChatTemplate> chat = {{std::begin(kChatTemplates), std::end(kChatTemplates)}};
  const TextType split = {.what = "the name of a split", .min_bytes = 1, .max_bytes = 128};
  const NameType<OnBrokenPicture> on_broken = {
      {{"refuse", OnBrokenPicture::kRefuse}, {"skip", OnBrokenPicture::kSkip}}};
  return {
      Required(Row(
          "data.path", path, AT(data.path),
          "The data file on the workers' hosts, or a folder of them, relative to the job file.")),
      Row("data.format", format, AT(data.format),
          "alpaca: instruction rows; text: {\"text\"} rows; plain: a text file; bin: tokens; "
          "chat: {\"messages\"} or {\"conversations\"} rows; "
          "completion: {\"prompt\", \"completion\"} rows; "
          "captions: pictures with {\"image\", \"text\"} rows, or an imagefolder."),
      Row("data.template", OrNull(chat), AT(data.chat_template),
          "Of chat: how turns are written; null: as the tokenizer's own chat_template has it."),
      Row("data.columns", TextMapType{}, AT(data.columns),
          "What the file calls the keys of its rows: {\"text\": \"caption\"}."),
      Row("data.split", OrNull(split), AT(data.split),
          "Of a folder with several splits (train, test, …) the one that is trained on."),
      Row("data.max_rows", OrNull(kRows), AT(data.max_rows),
          "Only the first rows of the file; null: all."),
      Row("data.val_split_fraction", kFractionBelowOne, AT(data.val_split_fraction),
          "Share of the rows that is kept for validation."),
      Row("data.val_path", OrNull(path), AT(data.val_path),
          "A file or folder of rows, all for validation; of the same format, relative to the job "
          "file."),
      Row("data.val_split", OrNull(split), AT(data.val_split),
          "The split of data.val_path, else of data.path, that is for validation."),
      Row("data.on_broken_picture", on_broken, AT(data.on_broken_picture),
          "Of captions: refuse names rows whose picture can't be read; skip decodes each picture "
          "before training and leaves out rows whose picture is broken."),
      Row("data.mask_prompt", BoolType{}, AT(data.mask_prompt),
          "Train on the answers only (alpaca, chat, completion). Not given: true for chat and "
          "completion, else false."),
      Row("data.seed", kSeed, AT(data.seed), "Seed of the split and the shuffle."),
  };
}

std::vector<Field> ExecutionFields() {
  const NameType<Precision> precision = {{{"32-true", Precision::k32True},
                                          {"bf16-true", Precision::kBf16True},
                                          {"bf16-mixed", Precision::kBf16Mixed}}};
  const NameType<EngineKind> engine = {
      {{"fused", EngineKind::kFused}, {"reference", EngineKind::kReference}}};
  const NameType<StrategyKind> strategy = {{{"auto", StrategyKind::kAuto},
                                            {"single", StrategyKind::kSingle},
                                            {"ddp", StrategyKind::kDdp},
                                            {"fsdp", StrategyKind::kFsdp}}};
  const NameType<Sharding> sharding = {{{"full", Sharding::kFull}, {"grad_op", Sharding::kGradOp}}};
  const NameType<FsdpUnit> unit = {{{"block", FsdpUnit::kBlock}, {"model", FsdpUnit::kModel}}};
  return {
      Row("precision", precision, AT(precision),
          "32-true, bf16-true (weights and optimizer too), or bf16-mixed (fp32 master weights)."),
      Row("devices", IntegerType{1, kMostDevices}, AT(devices), "How many GPUs (or CPU slots)."),
      Row("exclusive", BoolType{}, AT(exclusive),
          "No other job on its hosts while it runs: all their CPUs are its own."),
      Row("engine", engine, AT(engine),
          "fused: our kernels where there is a GPU; reference: plain ATen operations."),
      Row("deterministic", BoolType{}, AT(deterministic), "Bit-exact results, at some speed."),
      Row("strategy", strategy, AT(strategy), "auto: single on one device, ddp on more."),
      Row("sharding", sharding, AT(sharding),
          "Of fsdp. full: parameters, gradients, optimizer (ZeRO-3); grad_op: not the parameters "
          "(ZeRO-2)."),
      Row("fsdp_unit", unit, AT(fsdp_unit), "Of fsdp: what is gathered at once."),
      Row("offload_optimizer", BoolType{}, AT(offload_optimizer),
          "Keep and step the optimizer in host memory."),
      Row("activation_checkpointing", EveryNthType{}, AT(activation_checkpointing),
          "Recompute blocks in the backward: all, or each n-th."),
  };
}

std::vector<Field> TrainFields() {
  const NameType<LrSchedule> schedule = {{{"cosine", LrSchedule::kCosine},
                                          {"linear", LrSchedule::kLinear},
                                          {"constant", LrSchedule::kConstant}}};
  const NameType<OnNan> on_nan = {{{"stop", OnNan::kStop}, {"continue", OnNan::kContinue}}};
  return {
      Row("train.global_batch_size", OrNull(kBatch), AT(train.global_batch_size),
          "Rows per optimizer step: micro × devices × accumulation."),
      Row("train.accumulate_grad_batches", OrNull(kBatch), AT(train.accumulate_grad_batches),
          "Micro batches per step, instead of global_batch_size."),
      Required(Row("train.micro_batch_size", OrAuto(kBatch), AT(train.micro_batch_size),
                   "Rows that one device computes at once.")),
      Row("train.epochs", IntegerType{1, 1'000'000}, AT(train.epochs),
          "The run ends at the smaller of epochs and max_steps."),
      Row("train.max_steps", OrNull(IntegerType{0, kMostSteps}), AT(train.max_steps),
          "Optimizer steps at most. 0: nothing is trained and no data are read; the model "
          "continues "
          "eval.prompts as it is."),
      Row("train.max_seq_length", IntegerType{1, kLongestSequence}, AT(train.max_seq_length),
          "Longer rows are cut; in tokens."),
      Row("train.group_by_length", BoolType{}, AT(train.group_by_length),
          "Rows of similar length in a micro batch, for less padding; another order of rows."),
      Row("train.packing", BoolType{}, AT(train.packing),
          "Several rows in one sequence of max_seq_length, each with attention and positions of "
          "its "
          "own; batch sizes count sequences."),
      Row("train.lr_schedule", schedule, AT(train.lr_schedule),
          "After the warm-up: down to 0 as cosine or linear, or constant."),
      Row("train.lr_warmup_steps", OrNull(IntegerType{0, kMostSteps}), AT(train.lr_warmup_steps),
          "Linear warm-up; may exceed the run."),
      Row("train.lr_warmup_fraction", OrNull(kFraction), AT(train.lr_warmup_fraction),
          "The warm-up as a share of the run, instead of steps."),
      Row("train.max_norm", OrNull(kPositive), AT(train.max_norm),
          "Clip the gradient's norm. The metric grad_norm is then there at every step. Else it is "
          "there when memory is measured, behind each checkpoint and at the last step. Memory is "
          "measured at steps 0 and 1 and every 50th, more often in runs below 1,000 steps."),
      Row("train.on_nan", on_nan, AT(train.on_nan),
          "When the loss is NaN or infinite. stop: the job ends as DIVERGED and saves nothing "
          "more; "
          "continue: it runs on, and saves."),
  };
}

std::vector<Field> OptimizerFields() {
  NameType<OptimizerKind> name;
  for (const OptimizerInfo& info : kOptimizers) name.names.emplace_back(info.name, info.kind);
  const NameType<LrScaling> scaling = {
      {{"none", LrScaling::kNone}, {"linear", LrScaling::kLinear}}};
  return {
      Row("optimizer.name", name, AT(optimizer.name), "adamw, sgd, or adamw_8bit."),
      Row("optimizer.lr", kPositive, AT(optimizer.lr), "The peak learning rate."),
      Row("optimizer.lr_scaling", scaling, AT(optimizer.lr_scaling),
          "linear: lr × the number of devices."),
      Row("optimizer.weight_decay", kNotNegative, AT(optimizer.weight_decay),
          "Decoupled for adamw; added to the gradient for sgd."),
      Row("optimizer.betas", RealPairType{kFractionBelowOne}, AT(optimizer.betas), "Of adamw."),
      Row("optimizer.eps", kPositive, AT(optimizer.eps), "Of adamw."),
      Row("optimizer.momentum", kFractionBelowOne, AT(optimizer.momentum),
          "Of sgd; 0 keeps no state."),
  };
}

std::vector<Field> AdapterFields() {
  const WordsType targets = {{"q", "k", "v", "o", "gate", "up", "down", "head", "vision.qkv",
                              "vision.o", "vision.up", "vision.down", "qformer.q", "qformer.k",
                              "qformer.v", "qformer.o", "qformer.up", "qformer.down", "projection"},
                             {std::begin(kModuleNames), std::end(kModuleNames)}};
  const WordsType parts = {{"vision", "qformer", "projection", "language"}};
  const NameType<Quantize> quantize = {
      {{"nf4", Quantize::kNf4}, {"nf4-dq", Quantize::kNf4Dq}},
      {{"bnb.nf4", Quantize::kNf4}, {"bnb.nf4-dq", Quantize::kNf4Dq}}};
  return {
      Row("lora.r", IntegerType{1, 65'536}, AT(lora->r), "Rank of the adapters."),
      Row("lora.alpha", kPositive, AT(lora->alpha), "Scale: alpha / r."),
      Row("lora.dropout", kFractionBelowOne, AT(lora->dropout), "Before the adapters."),
      Row("lora.targets", targets, AT(lora->targets),
          "Which matrices; empty: all. The decoder's may have Hugging Face's names, as q_proj."),
      Row("quantize", OrNull(quantize), AT(quantize),
          "4-bit base weights; nf4-dq quantizes their scales too."),
      Row("freeze", parts, AT(freeze),
          "Parts of a model of pictures and words that are not trained; empty: none."),
  };
}

std::vector<Field> RunFields() {
  const NameType<Save> save = {{{"none", Save::kNone},
                                {"final", Save::kFinal},
                                {"adapter", Save::kAdapter},
                                {"merged", Save::kMerged}}};
  NameType<WeightsType> weights_type;
  for (const WeightsTypeInfo& info : kWeightsTypes)
    weights_type.names.emplace_back(info.name, info.type);
  const TextType folder = {.what = "a path", .min_bytes = 1, .max_bytes = 4096};
  const TextsType prompts = {.each = {.max_bytes = 4096}, .most = 64, .prose = true};
  const TextsType images = {.each = {.what = "a path", .min_bytes = 1, .max_bytes = 4096},
                            .most = 64};
  const TextType job_id = {.what = "the id of a job, such as j12", .min_bytes = 2, .max_bytes = 32};
  return {
      Row("eval.every_steps", OrNull(kCount), AT(eval.every_steps),
          "Evaluate at this interval; null: at the end only."),
      Row("eval.max_rows", OrNull(kRows), AT(eval.max_rows),
          "Evaluate on so many validation rows at most."),
      Row("eval.prompts", prompts, AT(eval.prompts),
          "Texts that the model continues at each evaluation. With data.format chat each is a "
          "user's turn, which it answers; else no template is added. A model of pictures captions "
          "the first validation rows, each behind one of them. Texts are kept of the first "
          "evaluation and of the newest " +
              std::to_string(kNewestTextsKept) + "."),
      Row("eval.raw_prompts", BoolType{}, AT(eval.raw_prompts),
          "With data.format chat: go on from eval.prompts as they are, without the chat template."),
      Row("eval.images", images, AT(eval.images),
          "With train.max_steps 0 and a model of pictures: a picture for each of eval.prompts, "
          "relative to the job file."),
      Row("eval.max_new_tokens", IntegerType{.min = 1, .max = kLongestContinuation},
          AT(eval.max_new_tokens), "The most tokens of a continuation; a stop token ends it."),
      Row("eval.temperature", kNotNegative, AT(eval.temperature),
          "0: the likeliest token each time; else tokens are drawn, by seed."),
      Row("seed", kSeed, AT(seed), "Seed of random weights and dropout."),
      Row("output.dir", OrNull(folder), AT(output.dir),
          "A folder on the workers' hosts, relative to the job file; null: nothing is kept."),
      Row("output.save", save, AT(output.save),
          "final: the trained model as a Hugging Face directory, or with lora what adapter saves: "
          "a folder for peft; merged: the model "
          "with the adapter added, as a Hugging Face directory."),
      Row("output.dtype", OrNull(weights_type), AT(output.dtype),
          "Of a model that is saved: its weights are rounded to this type, which config.json says. "
          "null: float32; bfloat16 after bf16-true, and of merged after bf16-mixed. Adapters and "
          "checkpoints keep the type that they are trained in."),
      Row("checkpoint.every_steps", OrNull(kCount), AT(checkpoint.every_steps),
          "Save the whole state at this interval."),
      Row("checkpoint.keep_last", IntegerType{1, 1'000}, AT(checkpoint.keep_last),
          "How many checkpoints stay."),
      Row("checkpoint.keep_best", BoolType{}, AT(checkpoint.keep_best),
          "Keep the one of the best val_loss too; each is then evaluated."),
      Row("checkpoint.resume_from", OrNull(folder), AT(checkpoint.resume_from),
          "Go on from this checkpoint, or from the newest in this folder; on the workers' hosts, "
          "relative to the job file."),
      Row("checkpoint.resume_job", OrNull(job_id), AT(checkpoint.resume_job),
          "The ended job that resume_from is of, in whose output.dir this one goes on; trainctl "
          "resume sets it."),
      Row("profile.steps", IntegerType{1, 100}, AT(profile->steps),
          "Trace so many steps; fewer of many micro steps, or before an evaluation or checkpoint."),
      Row("profile.skip", IntegerType{.min = 0, .max = kMostSteps}, AT(profile->skip),
          "So many steps of each attempt pass before; a short run's last steps are traced."),
  };
}

std::vector<Field> TrackFields() {
  return {Row("track", WordsType{{"tensorboard"}}, AT(track),
              "Write curves for these programs while it trains: tensorboard, in the folder "
              "tensorboard of output.dir.")};
}

std::vector<Field> ResourceFields() {
  const NameType<Expect> expect = {{{"OOM", Expect::kOom}, {"SUCCEEDED", Expect::kSucceeded}}};
  return {
      Row("resources.gpu_memory_limit", OrNull(BytesType{kSmallestMemoryLimit}),
          AT(resources.gpu_memory_limit_bytes), "What a rank may reserve, as on a smaller card."),
      Row("resources.constraints", TextMapType{}, AT(resources.constraints),
          "Which devices will do: {\"gpu.memory\": \">=40GiB\", \"host\": \"=node1,node2\", "
          "\"label.rack\": \"!=r3\"}. gpu.memory and gpu.compute_capability know <, <=, =, !=, "
          ">= and >; gpu.model (\"=H100,H200\": parts of names), gpu.name, host and label.KEY know "
          "= and !=. gpu.links (\"=NVLink\", \">=PIX\") is met where each two devices of the job "
          "are on one host and have such a link: from the farthest SYS, NODE, PHB, PXB, PIX, "
          "NVLink."),
      Row("resources.time_limit", OrNull(DurationType{}), AT(resources.time_limit_seconds),
          "The job ends as TIMEOUT after it. A job with one may start before a larger one that "
          "waits."),
      Row("resources.step_timeout", DurationType{}, AT(resources.step_timeout_seconds),
          "Without progress for so long the attempt ends as HANG. Progress is a step, or a part of "
          "an evaluation, of saving or of loading."),
      Row("resources.priority", OrNull(IntegerType{0, 100}), AT(resources.priority),
          "Higher first. null: 50, or what is nearest of what the site lets its owner ask for."),
      Row("resources.preemptible", BoolType{}, AT(resources.preemptible),
          "A job of higher priority may take its devices, once it has had them for the site's "
          "minimum: it saves a checkpoint, where it keeps some, and queues again."),
      Row("resources.max_restarts", IntegerType{0, 1'000}, AT(resources.max_restarts),
          "New attempts after crashes, hangs and lost nodes."),
      Row("resources.after", AfterType{}, AT(resources.after),
          "Start when these jobs have ended: \"j12\", or {\"j12\": \"ok\", \"j13\": \"any\"}. "
          "ok: it SUCCEEDED or ended as it expects; else this one is cancelled."),
      Row("resources.lease", OrNull(kId), AT(resources.lease),
          "Run within this lease, on its devices only: trainctl lease ls lists them."),
      Row("expect", OrNull(expect), AT(expect), "The outcome that this run is meant to have."),
  };
}

#undef AT

std::vector<Field> AllFields() {
  std::vector<Field> all;
  for (const auto& part :
       {TopFields, ModelFields, DataFields, ExecutionFields, TrainFields, OptimizerFields,
        AdapterFields, RunFields, TrackFields, ResourceFields}) {
    for (Field& field : part()) all.push_back(std::move(field));
  }
  return all;
}

// A section that stands for an optional member.
template <class At>
Section Nullable(std::string key, std::string doc, At at) {
  Section section{.key = std::move(key), .doc = std::move(doc)};
  section.is_present = [at](const JobSpec& job) { return at(job).has_value(); };
  section.set_present = [at](JobSpec& job, bool present) {
    if (!present)
      at(job).reset();
    else if (!at(job))
      at(job).emplace();
  };
  return section;
}

std::vector<Section> AllSections() {
  return {
      {"model", "Which model."},
      {"data", "What it is trained on."},
      {"train", "Batches, length and learning-rate rule."},
      {"optimizer", "The optimizer and its numbers."},
      Nullable("lora", "Train low-rank adapters instead of all weights; null: all weights.",
               [](auto& job) -> auto& { return job.lora; }),
      {"eval",
       "When and on how much the validation loss is measured, and which texts are continued."},
      {"output", "What is kept."},
      {"checkpoint", "Checkpoints to resume from."},
      Nullable("profile",
               "Trace some steps: where their time goes, and in output.dir a trace for Perfetto; "
               "null: none.",
               [](auto& job) -> auto& { return job.profile; }),
      {"resources", "Where, when and how long."},
  };
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kExclusive = {{
    {"train.global_batch_size", "train.accumulate_grad_batches"},
    {"train.lr_warmup_steps", "train.lr_warmup_fraction"},
}};

}  // namespace

std::string_view Parent(std::string_view key) {
  const size_t dot = key.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : key.substr(0, dot);
}

std::string_view LastPart(std::string_view key) { return key.substr(key.rfind('.') + 1); }

std::span<const Field> Fields() {
  static const std::vector<Field> fields = AllFields();
  return fields;
}

std::span<const Section> Sections() {
  static const std::vector<Section> sections = AllSections();
  return sections;
}

const Field* FindField(std::string_view key) {
  for (const Field& field : Fields()) {
    if (field.key == key) return &field;
  }
  return nullptr;
}

const Section* FindSection(std::string_view key) {
  for (const Section& section : Sections()) {
    if (section.key == key) return &section;
  }
  return nullptr;
}

std::optional<JsonNode> DefaultOf(const Field& field) {
  if (field.required) return std::nullopt;
  JobSpec job;
  for (const Section& section : Sections()) {
    if (section.nullable()) section.set_present(job, true);
  }
  return field.write(job);
}

const Section* SectionOf(std::string_view key) { return FindSection(Parent(key)); }

const Field* FindMapOfEntry(std::string_view key) {
  for (const Field& field : Fields()) {
    if (field.is_map && key.size() > field.key.size() + 1 && key.starts_with(field.key) &&
        key[field.key.size()] == '.')
      return &field;
  }
  return nullptr;
}

const Field* ExclusivePartner(std::string_view key) {
  for (const auto& [one, other] : kExclusive) {
    if (key == one) return FindField(other);
    if (key == other) return FindField(one);
  }
  return nullptr;
}

}  // namespace trainctl::job
