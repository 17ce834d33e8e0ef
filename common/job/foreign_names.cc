#include "common/job/foreign_names.h"

#include <algorithm>
#include <cctype>

namespace trainctl::job {
namespace {

constexpr ForeignName kNames[] = {
    {"modelname", "model.path", ""},
    {"modelnameorpath", "model.path", ""},
    {"modelid", "model.path", ""},
    {"basemodel", "model.path", ""},
    {"checkpointdir", "model.path", ""},
    {"dataset", "data.path", ""},
    {"datasetname", "data.path", ""},
    {"datasetpath", "data.path", ""},
    {"datadir", "data.path", ""},
    {"trainfile", "data.path", ""},
    {"validationfile", "data.val_path", ""},
    {"valsize", "data.val_split_fraction", ""},
    {"valsetsize", "data.val_split_fraction", ""},
    {"maxsamples", "data.max_rows", ""},
    {"maxtrainsamples", "data.max_rows", ""},
    {"chattemplate", "data.template", ""},
    {"gpu", "devices", ""},
    {"gpus", "devices", ""},
    {"ngpu", "devices", ""},
    {"ngpus", "devices", ""},
    {"numgpus", "devices", ""},
    {"numdevices", "devices", ""},
    {"numprocesses", "devices", ""},
    {"nprocpernode", "devices", ""},
    {"gpuspernode", "devices", ""},
    {"gres", "devices", ""},
    {"worldsize", "devices", ""},
    {"nodes", "devices", ""},
    {"nnodes", "devices", ""},
    {"numnodes", "devices", ""},
    {"torchdtype", "precision", ""},
    {"mixedprecision", "precision", ""},
    {"amp", "precision", "bf16-mixed"},
    {"bf16", "precision", "bf16-mixed"},
    {"bfloat16", "precision", "bf16-mixed"},
    {"fp16", "precision", "bf16-mixed"},
    {"float16", "precision", "bf16-mixed"},
    {"fp32", "precision", "32-true"},
    {"ddp", "strategy", "ddp"},
    {"fsdp", "strategy", "fsdp"},
    {"deepspeed", "strategy", "fsdp"},
    {"zero", "strategy", "fsdp"},
    {"zerostage", "sharding", ""},
    {"cpuoffload", "offload_optimizer", "true"},
    {"gradcheckpointing", "activation_checkpointing", "true"},
    {"gradientcheckpointing", "activation_checkpointing", "true"},
    {"globalbatch", "train.global_batch_size", ""},
    {"perdevicetrainbatchsize", "train.micro_batch_size", ""},
    {"perdevicebatchsize", "train.micro_batch_size", ""},
    {"trainmicrobatchsizepergpu", "train.micro_batch_size", ""},
    {"gradaccum", "train.accumulate_grad_batches", ""},
    {"gradaccumsteps", "train.accumulate_grad_batches", ""},
    {"gradientaccumulation", "train.accumulate_grad_batches", ""},
    {"gradientaccumulationiters", "train.accumulate_grad_batches", ""},
    {"gradientaccumulationsteps", "train.accumulate_grad_batches", ""},
    {"nepochs", "train.epochs", ""},
    {"numepochs", "train.epochs", ""},
    {"numtrainepochs", "train.epochs", ""},
    {"seqlen", "train.max_seq_length", ""},
    {"sequencelength", "train.max_seq_length", ""},
    {"maxlength", "train.max_seq_length", ""},
    {"modelmaxlength", "train.max_seq_length", ""},
    {"contextlength", "train.max_seq_length", ""},
    {"blocksize", "train.max_seq_length", ""},
    {"cutofflen", "train.max_seq_length", ""},
    {"lrscheduler", "train.lr_schedule", ""},
    {"lrschedulertype", "train.lr_schedule", ""},
    {"scheduler", "train.lr_schedule", ""},
    {"numwarmupsteps", "train.lr_warmup_steps", ""},
    {"maxgradnorm", "train.max_norm", ""},
    {"gradclip", "train.max_norm", ""},
    {"clipgrad", "train.max_norm", ""},
    {"gradientclipping", "train.max_norm", ""},
    {"gradientclipval", "train.max_norm", ""},
    {"optim", "optimizer.name", ""},
    {"learningrate", "optimizer.lr", ""},
    {"wd", "optimizer.weight_decay", ""},
    {"adambeta1", "optimizer.betas", ""},
    {"adambeta2", "optimizer.betas", ""},
    {"beta1", "optimizer.betas", ""},
    {"beta2", "optimizer.betas", ""},
    {"adamepsilon", "optimizer.eps", ""},
    {"lorarank", "lora.r", ""},
    {"uselora", "lora.r", ""},
    {"usepeft", "lora.r", ""},
    {"loratarget", "lora.targets", ""},
    {"targetmodules", "lora.targets", ""},
    {"loratargetmodules", "lora.targets", ""},
    {"qlora", "quantize", "nf4"},
    {"use4bit", "quantize", "nf4"},
    {"loadin4bit", "quantize", "nf4"},
    {"evalinterval", "eval.every_steps", ""},
    {"evalsteps", "eval.every_steps", ""},
    {"saveinterval", "checkpoint.every_steps", ""},
    {"savesteps", "checkpoint.every_steps", ""},
    {"savetotallimit", "checkpoint.keep_last", ""},
    {"resumefromcheckpoint", "checkpoint.resume_from", ""},
    {"reportto", "track", ""},
    {"time", "resources.time_limit", ""},
    {"walltime", "resources.time_limit", ""},
    {"dependency", "resources.after", ""},
    {"reservation", "resources.lease", ""},
    {"jobname", "name", ""},
    {"runname", "name", ""},
};

}  // namespace

std::span<const ForeignName> ForeignNames() { return kNames; }

const ForeignName* FindForeignName(std::string_view name) {
  const auto found = std::ranges::find(kNames, PlainName(name), &ForeignName::name);
  return found == std::end(kNames) ? nullptr : &*found;
}

std::string PlainName(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c != '-' && c != '_')
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return plain;
}

}  // namespace trainctl::job
