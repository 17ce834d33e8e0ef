#include "common/job/combinations.h"

#include "common/job/check_job.h"
#include "common/job/optimizer.h"
#include "common/job/saved_weights.h"
#include "common/job/trains.h"

namespace trainctl::job {
namespace {

bool NeedsAdapter(Save save) { return save == Save::kAdapter || save == Save::kMerged; }

constexpr Clash kClashes[] = {
    // ---- strategy ----
    {"strategy",
     [](const JobSpec& job) { return job.strategy == StrategyKind::kSingle && job.devices > 1; },
     "\"auto\", \"ddp\" or \"fsdp\" on more than one device",
     "single runs on one device: set devices to 1"},

    // ---- optimizer in host memory ----
    {"offload_optimizer",
     [](const JobSpec& job) { return job.offload_optimizer && job.strategy == StrategyKind::kDdp; },
     "false under ddp",
     "each rank would keep, and update, the whole optimizer state in the memory of one host: with "
     "strategy fsdp each keeps its shard"},
    {"offload_optimizer",
     [](const JobSpec& job) {
       return job.offload_optimizer && !InfoOf(job.optimizer.name).offloads;
     },
     "false unless optimizer.name is \"adamw\"",
     "the host updates AdamW's fp32 states. Others keep little, and moving weights and gradients "
     "through the host would cost more than it saves"},
    {"offload_optimizer",
     [](const JobSpec& job) { return job.offload_optimizer && job.lora.has_value(); },
     "false with lora",
     "only the adapters have optimizer states, a few hundred MB at most: leave them on the device"},

    // ---- LoRA and 4-bit weights ----
    {"quantize", [](const JobSpec& job) { return job.quantize.has_value() && !job.lora; },
     "null without lora", "4-bit weights can't be trained themselves: add \"lora\": {}"},
    {"quantize",
     [](const JobSpec& job) {
       return job.quantize.has_value() && job.strategy == StrategyKind::kFsdp;
     },
     "null under fsdp",
     "4-bit codes are not sharded: with strategy ddp each device holds them whole, at an eighth of "
     "fp32's size"},

    {"freeze", [](const JobSpec& job) { return !job.freeze.empty() && job.lora.has_value(); },
     "[] with lora", "lora freezes all of the model, and lora.targets says where it adds adapters"},

    // ---- output ----
    {"output.dir",
     [](const JobSpec& job) { return job.output.save != Save::kNone && !job.output.dir; },
     "a folder, since output.save is not \"none\"", "without a folder there is nowhere to save to"},
    {"output.dir",
     [](const JobSpec& job) { return job.checkpoint.every_steps.has_value() && !job.output.dir; },
     "a folder, since checkpoint.every_steps is set",
     "without a folder there is nowhere to save to"},
    {"output.dir", [](const JobSpec& job) { return !job.track.empty() && !job.output.dir; },
     "a folder, since track is not empty", "without a folder there is nowhere to write curves to"},
    {"checkpoint.resume_job",
     [](const JobSpec& job) { return job.checkpoint.resume_job && !job.checkpoint.resume_from; },
     "null without checkpoint.resume_from", "trainctl resume JOB sets both"},
    {"output.save", [](const JobSpec& job) { return NeedsAdapter(job.output.save) && !job.lora; },
     "\"none\" or \"final\" without lora", "there is no adapter"},
    {"output.dtype", [](const JobSpec& job) { return job.output.dtype && !SavesModel(job); },
     "null unless output.save is \"final\", with lora \"merged\"",
     "it is the type of a whole model that is saved; an adapter keeps the type it is trained in"},

    // ---- without training ----
    {"eval.prompts", [](const JobSpec& job) { return !Trains(job) && job.eval.prompts.empty(); },
     "a text or more with train.max_steps 0",
     "nothing is trained: all that the model does is to continue these texts"},
    {"devices", [](const JobSpec& job) { return !Trains(job) && job.devices > 1; },
     "1 with train.max_steps 0", "texts are continued on one device"},
    {"output.save",
     [](const JobSpec& job) { return !Trains(job) && job.output.save != Save::kNone; },
     "\"none\" with train.max_steps 0", "nothing is trained that could be saved"},
    {"checkpoint",
     [](const JobSpec& job) {
       return !Trains(job) && (job.checkpoint.every_steps || job.checkpoint.resume_from);
     },
     "no every_steps and no resume_from with train.max_steps 0",
     "texts are continued with the model at model.path, never with a checkpoint"},
    {"profile", [](const JobSpec& job) { return !Trains(job) && job.profile.has_value(); },
     "null with train.max_steps 0", "there is no step of training to trace"},

    {"track", [](const JobSpec& job) { return !Trains(job) && !job.track.empty(); },
     "[] with train.max_steps 0", "without training there are no curves"},
    {"eval.images",
     [](const JobSpec& job) {
       return !job.eval.images.empty() &&
              (Trains(job) || job.eval.images.size() != job.eval.prompts.size());
     },
     "one for each of eval.prompts, with train.max_steps 0",
     "a prompt stands behind its picture; a run that trains captions validation rows"},

    // ---- data ----
    {"data.val_split_fraction",
     [](const JobSpec& job) {
       return job.data.val_split_fraction > 0 && HasValidationData(job.data);
     },
     "0 with data.val_path or data.val_split",
     "rows of their own validate: leave out one of the two"},
    {"data.val_split",
     [](const JobSpec& job) {
       return job.data.val_split && !job.data.val_path && job.data.val_split == job.data.split;
     },
     "another one than data.split", "rows that train tell nothing when they validate"},
    {"data.val_split",
     [](const JobSpec& job) { return job.data.val_split && !job.data.val_path && !job.data.split; },
     "null without data.split", "data.path has several splits then: say which one trains"},
    {"data.on_broken_picture",
     [](const JobSpec& job) {
       return job.data.on_broken_picture != OnBrokenPicture::kRefuse &&
              job.data.format != DataFormat::kCaptions;
     },
     "\"refuse\" unless data.format is \"captions\"", "other rows have no pictures"},
    {"data.mask_prompt",
     [](const JobSpec& job) {
       return job.data.mask_prompt && job.data.format != DataFormat::kAlpaca &&
              !MasksPrompts(job.data.format);
     },
     "false with data.format \"text\", \"captions\", \"plain\" and \"bin\"",
     "such rows have no prompt"},
    {"train.packing",
     [](const JobSpec& job) {
       return job.train.packing && job.data.format == DataFormat::kCaptions;
     },
     "false with data.format \"captions\"", "each row has a picture of its own"},
    {"train.group_by_length",
     [](const JobSpec& job) { return job.train.packing && job.train.group_by_length; },
     "false with train.packing",
     "rows of all lengths share sequences, and nothing is left to sort"},
    {"data.template",
     [](const JobSpec& job) {
       return job.data.chat_template && job.data.format != DataFormat::kChat;
     },
     "null unless data.format is \"chat\"", "only conversations are written by a template"},
};

}  // namespace

std::span<const Clash> Clashes() { return kClashes; }

std::vector<Problem> FindClashes(const JobSpec& job) {
  const JobSpec resolved = ResolveJob(job);
  std::vector<Problem> problems;
  for (const Clash& clash : kClashes) {
    if (!clash.is_asked(resolved)) continue;
    problems.push_back(
        {std::string(clash.key), 0, "", std::string(clash.expected), std::string(clash.reason)});
  }
  return problems;
}

}  // namespace trainctl::job
