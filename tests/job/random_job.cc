#include "tests/job/random_job.h"

#include <utility>

namespace trainctl::job {
namespace {

int64_t Int(int64_t min, int64_t max) { return *rc::gen::inRange<int64_t>(min, max + 1); }

bool Bool() { return *rc::gen::arbitrary<bool>(); }

std::optional<int64_t> MaybeInt(int64_t min, int64_t max) {
  return Bool() ? std::optional<int64_t>(Int(min, max)) : std::nullopt;
}

// From 0 to below 1.
double Fraction() {
  return static_cast<double>(Int(0, (int64_t{1} << 53) - 1)) / 9007199254740992.0;
}

// Above 0, over many magnitudes.
double Positive() {
  return (Fraction() + 0.1) * *rc::gen::element(1e-12, 1e-8, 1e-4, 1.0, 1e3, 1e12);
}

std::string Text() {
  return *rc::gen::container<std::string>(
             rc::gen::element('a', 'Z', '0', ' ', '"', '\\', '\n', '.', '\x01')) +
         *rc::gen::element<std::string>("", "é", "😀");
}

std::optional<std::string> MaybeId() {
  return Bool() ? std::optional<std::string>("j" + std::to_string(Int(1, 99))) : std::nullopt;
}

template <class Enum>
Enum OneOf(int count) {
  return static_cast<Enum>(Int(0, count - 1));
}

TrainSpec RandomTrain() {
  TrainSpec train;
  if (Bool())
    train.global_batch_size = MaybeInt(1, 4096);
  else
    train.accumulate_grad_batches = MaybeInt(1, 64);
  train.micro_batch_size = MaybeInt(1, 512);
  train.epochs = Int(1, 100);
  train.max_steps = MaybeInt(1, 100'000);
  train.max_seq_length = Int(1, 1 << 20);
  train.lr_schedule = OneOf<LrSchedule>(3);
  if (Bool())
    train.lr_warmup_steps = MaybeInt(0, 1000);
  else
    train.lr_warmup_fraction = Fraction();
  if (Bool()) train.max_norm = Positive();
  train.on_nan = OneOf<OnNan>(2);
  return train;
}

OptimizerSpec RandomOptimizer() {
  return {.name = OneOf<OptimizerKind>(3),
          .lr = Positive(),
          .lr_scaling = OneOf<LrScaling>(2),
          .weight_decay = Fraction(),
          .betas = {Fraction(), Fraction()},
          .eps = Positive(),
          .momentum = Fraction()};
}

ResourceSpec RandomResources() {
  ResourceSpec resources;
  resources.gpu_memory_limit_bytes = MaybeInt(1 << 20, int64_t{1} << 50);
  if (Bool()) resources.constraints = {{"gpu.memory", ">=40GiB"}, {"host", "=" + Text()}};
  resources.time_limit_seconds = MaybeInt(1, 10'000'000);
  resources.step_timeout_seconds = Int(1, 10'000);
  resources.priority = Int(0, 100);
  resources.max_restarts = Int(0, 1000);
  if (Bool()) resources.after = {{"j" + Text(), OneOf<After>(2)}, {"j1", After::kAny}};
  resources.lease = MaybeId();
  return resources;
}

JobSpec MakeJob() {
  JobSpec job;
  job.name = Text();
  if (Bool()) job.tags = {{"k" + Text(), Text()}, {"lab", "2"}};
  job.notes = Text();
  job.model = {.path = "m" + Text(), .init = OneOf<ModelInit>(2)};
  job.data = {
      .path = "d" + Text(), .format = OneOf<DataFormat>(6), .max_rows = MaybeInt(1, 1'000'000)};
  job.data.val_split_fraction = Fraction();
  if (Bool()) job.data.chat_template = OneOf<ChatTemplate>(6);
  if (Bool()) job.data.columns = {{"text", "c" + Text()}};
  job.data.mask_prompt = Bool();
  if (Bool()) job.data.split = "train";
  if (Bool()) job.data.val_path = "/v";
  if (Bool()) job.data.on_broken_picture = OnBrokenPicture::kSkip;
  job.data.seed = Int(0, int64_t{1} << 53);
  job.precision = OneOf<Precision>(3);
  job.devices = Int(1, 64);
  job.engine = OneOf<EngineKind>(2);
  job.exclusive = Bool();
  job.deterministic = Bool();
  job.strategy = OneOf<StrategyKind>(4);
  job.sharding = OneOf<Sharding>(2);
  job.fsdp_unit = OneOf<FsdpUnit>(2);
  job.offload_optimizer = Bool();
  job.activation_checkpointing = Int(0, 4);
  job.train = RandomTrain();
  job.optimizer = RandomOptimizer();
  if (Bool())
    job.lora = LoraSpec{
        .r = Int(1, 256), .alpha = Positive(), .dropout = Fraction(), .targets = {"q", "head"}};
  if (Bool()) job.quantize = OneOf<Quantize>(2);
  if (Bool()) job.freeze = {"vision", "projection"};
  job.eval = {.every_steps = MaybeInt(1, 100),
              .max_rows = MaybeInt(1, 100),
              .max_new_tokens = Int(1, 4096),
              .temperature = Positive()};
  if (Bool()) job.eval.prompts = {Text(), ""};
  job.eval.raw_prompts = Bool();
  job.seed = Int(0, 1'000'000);
  job.output.save = OneOf<Save>(4);
  if (Bool()) job.output.dir = "/out" + Text();
  if (Bool()) job.output.dtype = OneOf<WeightsType>(3);
  job.checkpoint = {.every_steps = MaybeInt(1, 100), .keep_last = Int(1, 9), .keep_best = Bool()};
  if (Bool()) job.checkpoint.resume_from = "/checkpoints";
  if (Bool()) job.checkpoint.resume_job = "j12";
  if (Bool()) job.profile = ProfileSpec{.steps = Int(1, 9), .skip = Int(0, 9)};
  job.resources = RandomResources();
  if (Bool()) job.expect = OneOf<Expect>(2);
  return job;
}

}  // namespace

rc::Gen<JobSpec> RandomJob() { return rc::gen::exec(MakeJob); }

}  // namespace trainctl::job
