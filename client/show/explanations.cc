#include "client/show/explanations.h"

namespace trainctl::client {
namespace {

constexpr std::string_view kPrecisionAlso[] = {"bf16", "bf16 true", "bf16 mixed", "32 true",
                                               "fp32"};
constexpr std::string_view kAccumulationAlso[] = {"gradient accumulation",
                                                  "accumulate grad batches"};
constexpr std::string_view kMicroBatchAlso[] = {
    "micro", "micro batch size", "batch size", "batch", "epoch", "epochs"};
constexpr std::string_view kGlobalBatchAlso[] = {"global batch size"};
constexpr std::string_view kDdpAlso[] = {"data parallel", "strategy", "nccl"};
constexpr std::string_view kFsdpAlso[] = {"sharding", "zero",      "zero 2",    "zero 3",
                                          "grad op",  "fsdp unit", "full shard"};
constexpr std::string_view kCheckpointingAlso[] = {"checkpointing", "gradient checkpointing",
                                                   "recomputation"};
constexpr std::string_view kLoraAlso[] = {"adapter", "adapters", "peft", "rank", "alpha"};
constexpr std::string_view kQloraAlso[] = {"quantize", "nf4", "nf4 dq", "4 bit"};
constexpr std::string_view kOffloadAlso[] = {"offload optimizer", "cpu adam", "optimizer cpu",
                                             "zero offload"};
constexpr std::string_view kEightBitAlso[] = {"8 bit", "8bit", "adamw 8bit", "8bit adam"};
constexpr std::string_view kMemoryAlso[] = {
    "memory",   "params", "grads",     "optimizer memory", "other",
    "reserved", "peak",   "allocated", "peak allocated"};
constexpr std::string_view kOomAlso[] = {"out of memory", "oom gpu", "oom host",
                                         "gpu memory limit"};
constexpr std::string_view kLearningRateAlso[] = {"lr", "warmup", "warm up", "lr scaling",
                                                  "schedule"};
constexpr std::string_view kLossAlso[] = {"val loss", "validation", "evaluation"};
constexpr std::string_view kPackingAlso[] = {"packed", "padding"};
constexpr std::string_view kDataAlso[] = {"data", "alpaca", "chat", "format", "tokens"};
constexpr std::string_view kOptimizerAlso[] = {"adamw", "sgd"};
constexpr std::string_view kThroughputAlso[] = {"tokens per second",
                                                "tokens/s",
                                                "trained tokens/s",
                                                "samples per second",
                                                "samples/s",
                                                "time",
                                                "speed",
                                                "speedup",
                                                "speed up",
                                                "scaling efficiency"};
constexpr std::string_view kOutcomesAlso[] = {
    "outcome",   "expect",    "attempt",     "attempts",     "succeeded", "failed",
    "diverged",  "hang",      "nccl error",  "gpu fault",    "node lost", "timeout",
    "preempted", "cancelled", "lease ended", "launch failed"};
constexpr std::string_view kStatesAlso[] = {
    "state",   "queued",   "workers",  "ready",    "busy",   "lost",
    "bad",     "suspect",  "dirty",    "drained",  "leased", "starting",
    "running", "stopping", "finished", "cpu slot", "device", "devices"};
constexpr std::string_view kSweepAlso[] = {"curve", "stop at oom", "grid"};
constexpr std::string_view kTextsAlso[] = {"prompts", "generate", "continuation", "sample"};
constexpr std::string_view kArtifactsAlso[] = {"artifact", "output", "save", "export"};
constexpr std::string_view kCheckpointAlso[] = {"checkpoints", "resume", "restart", "max restarts",
                                                "checkpoint files"};
constexpr std::string_view kDeterministicAlso[] = {"determinism", "seed", "reproducibility"};
constexpr std::string_view kQueueAlso[] = {"backfill", "after",        "gang",
                                           "gangs",    "dependencies", "waiting",
                                           "priority", "time limit",   "predicted start"};
constexpr std::string_view kLeasesAlso[] = {"lease", "reservation", "calendar", "within"};
constexpr std::string_view kConstraintsAlso[] = {"constraint", "host",      "label",     "labels",
                                                 "gpu name",   "gpu model", "gpu memory"};
constexpr std::string_view kProfileAlso[] = {"profiler", "profiling", "trace", "perfetto",
                                             "kineto"};
constexpr std::string_view kTrackAlso[] = {"tensorboard", "tracking", "curves", "wandb", "mlflow"};
constexpr std::string_view kExclusiveAlso[] = {"own host", "whole host", "shared host"};

constexpr Explanation kExplanations[] = {
    {"precision", "32-true, bf16-true, bf16-mixed: speed, memory, accuracy", kPrecisionAlso,
     R"(32-true keeps and computes everything in fp32, with TF32 off: 16 bytes a parameter with
AdamW (4 weight, 4 gradient, 8 moments). bf16-true keeps weights, gradients and moments in bf16:
8 bytes a parameter, half the memory and several times the speed on tensor cores, but small
updates can be lost to rounding. bf16-mixed computes in bf16 from fp32 masters: 18 bytes a
parameter (4 master, 2 compute copy, 4 gradient, 8 moments), more than fp32, in exchange for its
speed and fp32's updates; its activations are half as large. A GPU needs compute capability 8.0
for bf16; CPU slots store bf16 and compute in fp32.
)",
     "trainctl submit job.json --precision bf16-true --name try-bf16"},
    {"accumulation", "a large batch in several small ones", kAccumulationAlso,
     R"(One optimizer step sees global = micro × devices × accumulation rows. Accumulation
splits them into that many forward and backward passes, whose gradients are added before one
update: the update is the same as that of one large batch, while activations are only of a micro
batch. It costs no memory for activations, but the gradients (4 or 2 bytes a parameter) must be
held from pass to pass, and smaller matrix products use a GPU less well. At the same global
batch, the number of steps and the loss stay the same.
)",
     "trainctl submit job.json --train.micro_batch_size 2 --name try-accumulation"},
    {"micro batch", "rows of one forward pass on one device", kMicroBatchAlso,
     R"(micro_batch_size is the rows of one forward and backward on one device. Activations and
logits grow in proportion to it and to the sequence length; parameters, gradients and optimizer
do not. A larger micro batch fills the GPU better until it is compute-bound; beyond that it only
costs memory. With a global batch given, doubling the micro batch halves the accumulation: the
same training, other time and memory. Rows are padded to the longest of their micro batch, so
that larger ones also compute more padding. "auto" is the largest that is predicted to fit the
site's devices, with some room to spare; submit says which and why. When the job starts, one
step on the longest rows proves it before weights are loaded. Where that runs out of memory the
job starts again with half of it and twice the accumulation; describe says what was proven.
)",
     "trainctl submit job.json --train.micro_batch_size 8 --dry-run"},
    {"global batch", "rows of one optimizer step", kGlobalBatchAlso,
     R"(global_batch_size is the rows that one optimizer step averages over, all devices
together; steps an epoch are floor(rows / global). A larger one makes fewer, less noisy steps:
at the same learning rate the loss falls less an epoch. Give either train.global_batch_size or
train.accumulate_grad_batches; with the latter the global batch grows with the devices. compare
warns where the global batch differs without a rule for the learning rate. It must be divisible
by micro × devices.
)",
     "trainctl submit job.json --train.global_batch_size 32 --optimizer.lr_scaling linear"},
    {"ddp", "the same model on every device, each with its share of the batch", kDdpAlso,
     R"(Each device holds the whole model, gradients and optimizer, runs its share of the micro
batches, and the gradients are summed over all devices (all-reduce) before each update. Memory a
device stays that of one device; time falls nearly in proportion while a step's compute outlasts
moving 2 × gradient bytes over the links. Model and optimizer must fit one device: for AdamW 16
bytes a parameter in 32-true, 8 in bf16-true. GPUs talk through NCCL, CPU slots over TCP.
scaling efficiency in compare is speed-up over added devices, of runs that differ in devices and
strategy alone.
)",
     "trainctl submit job.json --devices 2 --strategy ddp --name try-ddp"},
    {"fsdp", "the model spread over the devices, each unit whole only while it is used", kFsdpAlso,
     R"(Of W devices each holds 1/W of parameters, gradients and optimizer. A unit (a block; the
embedding; the head) is gathered before its use and let go of after it, while the next one is
being gathered; its gradient is reduce-scattered as the backward leaves it; with accumulation
only in the last micro step, where the devices have room for whole gradients until then (submit
says which; a resources.gpu_memory_limit that leaves no such room saves the memory, and costs
time). AdamW in bf16-true: 8 bytes a parameter over W, and two units whole. The traffic is
half again DDP's (two gathers, one reduce-scatter), and hides behind the compute of about 2,000
tokens a device and micro step. sharding "grad_op" (ZeRO-2) keeps weights whole from forward to
backward: less traffic, more memory. GPUs of one host gather by copies out of each other's memory,
which leaves their multiprocessors to the products; where they can't, or NCCL_P2P_DISABLE is set,
NCCL gathers. fsdp_unit "model" treats the model as one unit, as a run
that forgot to wrap its blocks does.
)",
     "trainctl submit job.json --devices 4 --strategy fsdp --name try-fsdp"},
    {"activation checkpointing", "activations computed again instead of kept", kCheckpointingAlso,
     R"(A block keeps only its input, and runs its forward again before its backward: a third
more compute, for activations of one block instead of all. true is every block, n every n-th.
The result is the same, bit for bit under deterministic. It pays where activations are what does
not fit: long sequences, large micro batches.
)",
     "trainctl submit job.json --activation_checkpointing true --dry-run"},
    {"lora", "small trained matrices beside frozen weights", kLoraAlso,
     R"(Beside a frozen matrix W [out, in], two small ones are trained: A [r, in] and B [out,
r], which add alpha / r · B·A·x (Hu et al. 2021). Only r · (in + out) parameters have gradients
and optimizer state, and no weight gradient of W is computed: two thirds of the compute, and
memory near that of the weights alone. lora.targets are out of q, k, v, o, gate, up, down, head
(all of them unless named; the head not where it is tied); of BLIP-2 also out of vision.qkv,
vision.o, vision.up, vision.down, qformer.q, …, projection. output.save "adapter" keeps the small
matrices (PEFT's format), "merged" a model with them added. Without lora, "freeze": ["vision"]
leaves parts of BLIP-2 as they are: vision, qformer, projection, language.
)",
     "trainctl submit job.json --lora.r 16 --name try-lora"},
    {"qlora", "lora beside weights of 4 bits", kQloraAlso,
     R"(quantize "nf4" stores the frozen matrices of the blocks as 4-bit codes with a scale for
each 64 (Dettmers et al. 2023): 0.56 bytes a parameter instead of 2, and 0.52 with "nf4-dq",
which quantizes the scales too. They are dequantized for each use, so that a step is somewhat
slower than LoRA's, and the rounding of the weights costs some accuracy. Embedding, head and
adapters are not quantized.
)",
     "trainctl submit job.json --lora.r 16 --quantize nf4 --precision bf16-true --name try-qlora"},
    {"offload", "the optimizer in host memory", kOffloadAlso,
     R"(offload_optimizer keeps fp32 masters and AdamW's moments in host memory, 12 bytes a
parameter (memory: optimizer CPU), and updates there: gradients travel to the host and weights
back, unit by unit during the backward. The GPU keeps weights and gradients only. The update is
bound by the host's memory: some billion parameters a second for a whole host, so that
accumulation, which updates less often, hides much of it. Hosts without the memory for it are told
before: submit refuses, and advise leaves such ways out.
)",
     "trainctl submit job.json --offload_optimizer true --name try-offload"},
    {"8-bit adam", "adamw with moments of one byte", kEightBitAlso,
     R"(adamw_8bit stores both moments as 8-bit codes with a scale for each 256 (Dettmers et al.
2022): 2 bytes a parameter instead of 4 (bf16) or 8 (fp32); tensors below 4,096 elements keep
fp32 moments. They are decoded, updated and encoded in one pass.
)",
     "trainctl submit job.json --optimizer.name adamw_8bit --name try-8bit"},
    {"memory kinds", "parameters, gradients, optimizer, other; allocated, peak, reserved",
     kMemoryAlso,
     R"(params: weights, with fp32 masters and compute copies. grads: one value a trainable
parameter. optimizer: AdamW's two moments, SGD's momentum (none at momentum 0). other:
activations, logits (rows × length × vocabulary, often the largest single tensor), workspaces.
allocated is their sum at that instant, peak allocated the most at any instant of a step,
reserved what the caching allocator holds of the GPU, which is what nvidia-smi shows and what
out of memory is decided by. They are measured at four phases of a step.
)",
     "trainctl describe JOB; trainctl metrics JOB --name memory_peak_allocated_bytes"},
    {"oom", "what to do about out of memory", kOomAlso,
     R"(OOM_GPU is an outcome, with the rank, the phase, the bytes asked for and the memory by
kind. In loading or backward of step 0: parameters and gradients alone do not fit; take
bf16-true (half the bytes) or a smaller model. At the first optimizer step: the optimizer's 8
bytes a parameter (fp32) or 4 (bf16) came on top; SGD without momentum needs none. In forward or
backward: activations; halve the micro batch (accumulation keeps the global batch) or
max_seq_length. OOM_HOST: the kernel ended the rank for the host's memory. submit predicts the
peak before anything runs, and refuses what fits no device with settings that would fit;
"expect": "OOM" says that it is meant to end so, --force submits it all the same. With
micro_batch_size "auto" a trial at the start finds what fits, and only a micro batch of 1 that
does not is OOM_GPU.
)",
     "trainctl submit job.json --train.micro_batch_size 1 --dry-run"},
    {"learning rate", "lr, warm-up, schedule, scaling with the batch", kLearningRateAlso,
     R"(optimizer.lr is the peak: linear warm-up over lr_warmup_steps (or lr_warmup_fraction of
the run), then lr_schedule: cosine or linear to 0, or constant. Warm-up may be longer than the
run, as in the labs: then the rate stays on the ramp and never reaches its peak. lr_scaling
"linear" multiplies lr by global / (micro × accumulation), the number of devices, so that runs
on more devices stay comparable.
)",
     "trainctl submit job.json --optimizer.lr 1e-4 --train.lr_warmup_steps 10"},
    {"loss", "what is averaged over what, and when", kLossAlso,
     R"(loss is cross-entropy of the next token, the mean over all tokens of the global batch
that count (not padding, with mask_prompt not the prompt), before that step's update: one value
a step. ln of the vocabulary (10.8 for 49,152) is guessing: losses of models with another
tokenizer are not comparable. val_loss is the same over the validation rows, at eval.every_steps
and at the end; without validation rows there is none. bf16 losses differ in the third digit.
)",
     "trainctl metrics JOB --name loss,val_loss -o csv"},
    {"texts", "what the model makes of prompts at each evaluation", kTextsAlso,
     R"(eval.prompts are texts that the model continues at each evaluation, at most
eval.max_new_tokens each. With data.format chat a prompt is a user's turn: the template of the
data writes it and the beginning of the answer, as transformers' apply_chat_template with
add_generation_prompt does, and the token that ends answers ends the text too. eval.raw_prompts
true (generate --raw) and other formats take a prompt as it is: bos stands before it as before
rows of the data, and a template (Alpaca's) is part of it only where you write it. At
temperature 0 the likeliest token is taken each time, as transformers' generate does; else
tokens are drawn by seed, the same at each evaluation where the model is the same. Of the model's
generation_config.json (else config.json) eos_token_id and repetition_penalty are followed, and
top_k and top_p where tokens are drawn; a file that names none of the two has all tokens drawn.
A notice of the job names others that would change the text. Their time counts as evaluation.

describe and compare show the texts of the first and the last evaluation. Texts are kept of the
first evaluation and of the newest 17: describe --texts all shows these. Others are deleted as new
ones come, and have a line in the logs alone. For people a text is one line, with \n and \t for
line ends and tabs and \u001b for ESC; -o json has its characters as the model gave them.

BLIP-2 captions the pictures of the first validation rows, one for each prompt, which may be "".
Afterwards trainctl generate JOB --image FILE captions others, on the host where the model lies.

After the run, trainctl generate JOB --prompt TEXT asks the model that it has saved, in a job of
its own: train.max_steps 0, with which nothing is trained, no data are read, and the memory is
that of the weights and of the longest text's keys and values.
)",
     "trainctl submit job.json --eval.prompts 'Once upon a time' --eval.every_steps 50"},
    {"data formats", "alpaca, chat, completion, captions, text, plain, bin", kDataAlso,
     R"(alpaca: a JSON list, or a line each, of {"instruction", "input", "output"}, put into the
Alpaca prompt; mask_prompt leaves the prompt out of the loss. Prompt and output become tokens each
alone, as in LitGPT. chat: rows of {"messages"} with role and content, or ShareGPT's
{"conversations"} with from and value, written by a template: the tokenizer's own chat_template
where it is a built-in one, else data.template (chatml, llama3, mistral, qwen, zephyr, alpaca). Only
the assistant's words and the token that ends them count in the loss, unless mask_prompt is false.
Qwen 3's template writes an answer's reasoning_content; others refuse rows that have some. Mistral's
writes a system turn into the last user's, where transformers leaves it out of rows that end with an
answer. completion: rows of {"prompt", "completion"}, joined as they are and made into tokens as one
text. Only the completion counts in the loss, as there; a token across the seam belongs to it.
captions: pictures (JPEG, PNG, WebP) with texts, an imagefolder with metadata.jsonl or metadata.csv,
or rows of {"image", "text"}, the paths relative to that file; the text counts in the loss. BLIP-2
takes these, and nothing else. Its placeholders for the picture count in max_seq_length. Pictures
are turned as their EXIF says, CMYK becomes RGB as with Pillow, of an animated PNG the first picture
is taken; animated WebP and PNG in gray of 16 bits are refused, or skipped
(data.on_broken_picture). Each rank keeps 2 GiB of decoded pictures; what does not fit is decoded
again in each epoch. text: lines {"text": …}. plain: one text, cut into rows of max_seq_length.
bin: tokens as they are. data.columns says what the file calls these keys: {"text": "caption"}.

All of these but plain and bin may lie in Parquet, or in Arrow as save_to_disk of Hugging Face's
datasets writes it: data.path is then one file, or a folder of *.parquet files or of one that was
saved; of a DatasetDict with several splits the folder of one (dict/train). Pictures of captions
may be bytes there, as datasets' Image column has them. Where keys and values are texts, rows may be
those of a file *.csv, whose first line names the columns.

Data of 512 MB or more, or 64 MB of rows that name pictures, are looked at by a sample before the
run: rows, steps and time are then reckoned from it, and a dry run says so.

Rows are cut to max_seq_length, padded to the longest of their micro
batch (train.group_by_length: true has rows of similar length meet there), or packed
(trainctl explain packing).
A folder with splits (a DatasetDict, train-00000-of-00002.parquet, train.jsonl) needs
data.split, and data.val_split may validate; data.val_path names a file of its own.
val_split_fraction sets rows aside by data.seed; max_rows takes the first ones. A dry run shows
the first row, with its special tokens and what of it counts in the loss.
)",
     "trainctl submit job.json --data.max_rows 100 --dry-run"},
    {"packing", "several rows in one sequence, without padding", kPackingAlso,
     R"("train": {"packing": true} puts several rows into one sequence of max_seq_length, so that
almost no position is padding: of short rows several times as many tokens are trained a second.
Each row attends to itself alone, and its positions begin at 0: loss and gradients are those of
the rows one by one. micro_batch_size and global_batch_size then count sequences, and a step
trains as many rows as there are in them: steps are fewer, and the learning rate may want to be
looked at. Rows are packed once, in an order of data.seed; each epoch shuffles the sequences.
Validation rows are packed too. Not with pictures, nor with group_by_length, which has no more
to do. samples count rows, tokens the positions, trained_tokens those in the loss.
)",
     "trainctl submit job.json --train.packing true --dry-run"},
    {"optimizer", "AdamW and SGD, bytes a parameter", kOptimizerAlso,
     R"(adamw keeps two moments a trainable parameter: 8 bytes in fp32 and bf16-mixed, 4 in
bf16-true. sgd keeps none at momentum 0, one value otherwise: often the difference between
fitting and not, at slower progress. Its learning rates are larger by one or two orders of
magnitude. weight_decay is decoupled in adamw. max_norm clips the gradient's norm over all
parameters, which needs all gradients at once.
)",
     "trainctl submit job.json --optimizer.name sgd --optimizer.lr 1e-3"},
    {"throughput", "tokens/s, samples/s, time and speed-up", kThroughputAlso,
     R"(time is the training loop from the first step to the end of the last, without load,
evaluation and saving. tokens/s counts positions up to the longest row of each micro batch,
padding included, as LitGPT does; trained tokens/s only those that count in the loss. Compare
runs with different micro batches by samples/s: padding inflates tokens/s. speed-up is samples/s
over the base's; scaling efficiency is speed-up over added devices, where nothing but devices and
strategy differs. Times of runs that trained different amounts are not compared. The first steps
are slower than the rest: seconds per step is the median without the first, so a run of one step
has none.
)",
     "trainctl compare JOB JOB"},
    {"outcomes", "how jobs end, what is restarted, expect", kOutcomesAlso,
     R"(SUCCEEDED, FAILED (exit code or signal, last log lines), OOM_GPU, OOM_HOST, DIVERGED
(the loss is NaN or infinite: the run stops at that step, saves nothing more and keeps the last
good checkpoint; train.on_nan "continue" runs on), HANG (no progress for step_timeout: no step,
evaluation, saving, tokenizing or loading; names the rank that did not join), NCCL_ERROR,
GPU_FAULT, NODE_LOST, TIMEOUT (time_limit), LEASE_ENDED (the end of its lease), CANCELLED,
LAUNCH_FAILED (host and path that is missing). An attempt that gave way to a lease, or to a job of
higher priority (resources.preemptible), or went with devices that were lent (trainctl slurm), is
PREEMPTED: its job queues again, which is not counted. max_restarts counts new attempts after a
signal, HANG, NCCL_ERROR, GPU_FAULT, NODE_LOST; never after OOM or DIVERGED, which would only
happen again. It pauses first, 1 s and twice that after each failure without progress, up to 5 min,
and goes to devices where it has not failed, if some are free within minutes.
"expect": "OOM" or "SUCCEEDED" changes no outcome, only whether it is as expected, and wait's
exit status.
)",
     "trainctl submit job.json --expect OOM --wait"},
    {"states", "what a job or a device is at, as tables have it", kStatesAlso,
     R"(Of a job: QUEUED (trainctl explain JOB says why), STARTING (its devices are taken, its ranks
load), RUNNING, STOPPING (it was told to end, and its devices are not free yet), FINISHED, with an
outcome (trainctl explain outcomes).
Of a device, which a worker has: READY, BUSY (a job has it), LOST (its worker has not been heard
of; a rank there may go on), DIRTY (not free, or not known to be, though nothing of ours should run
there: another program, or a rank that ends), BAD and SUSPECT (its driver told of a fault: XID,
ECC), DRAINED (trainctl drain: nothing new is placed there), LEASED (for its lease's jobs alone).
A worker without a GPU has a CPU slot: its share of the host's cores, and of its memory.
)",
     "trainctl workers; trainctl status"},
    {"leases", "devices for one's own jobs, from a start to an end", kLeasesAlso,
     R"(A lease has devices for its owner's jobs alone, from its start to its end; which they are is
decided when it is made, all of one model, and none is promised twice. A job under a lease
("resources": {"lease": "lab2"}, or submit --within lab2) waits for its start and runs on its
devices only. Ten minutes before the end its jobs are told, half a minute before they are stopped:
LEASE_ENDED. Jobs without a lease run around it. One gets a device that is leased later if its
time_limit, or its predicted time and half of it, ends before; one whose time nobody knows if the
lease is an hour away. Whoever is still there is told ten minutes before the start, is stopped half
a minute before (PREEMPTED) and queues again. Who is stopped saves where it keeps checkpoints
(checkpoint.every_steps), and goes on from there, after LEASE_ENDED by trainctl resume; what any
other job did is lost, as it is told.
Leases go by the coordinator's wall clock. The policy's max_lease_time bounds their length, 24 h
where it is not said.
)",
     "trainctl lease create lab2 --gpus 4 --for 3h"},
    {"constraints", "which devices and hosts will do for a job", kConstraintsAlso,
     R"(resources.constraints names what each device must be: "gpu.memory": ">=40GiB",
"gpu.compute_capability": ">=8.0", "gpu.model": "=H100,H200" (part of the name, or one of several
parts), "gpu.name": "=NVIDIA H200" (the whole name); and of which workers: "host":
"=node1,node2" (one of them), "!=node3", "label.rack": "=r1", as trainworker --label rack=r1 says.
Numbers are compared by =, !=, <, <=, > and >=, names by = and !=. All must hold, of every device of
the gang, which are of one model. "gpu.links": "=NVLink" or ">=PIX" speaks of pairs: each two
devices of the gang are on one host, and the link between them is such a one. From the farthest
they are SYS, NODE, PHB, PXB, PIX and NVLink, as nvidia-smi topo -m calls them. Of several free
groups the job gets the one with the best links. A job of one device gets any GPU. A CPU slot meets
nothing that begins with gpu. bf16 needs 8.0 of a GPU without saying so. A job that no device of
the site could ever have is refused at submit, and trainctl explain JOB says which constraint it
waits for. trainctl workers -o json has what devices and workers are, and their links.
)",
     "trainctl submit job.json --resources.constraints '{\"gpu.memory\": \">=40GiB\"}' --dry-run"},
    {"deterministic", "bit for bit the same result", kDeterministicAlso,
     R"(With "deterministic": true, runs with the same seeds are equal bit for bit, and n
devices × accumulation a equal one device × n·a at the same micro batch: gradients are added in
a fixed order and every kernel is chosen for it, which costs time. Without it, runs agree within
rounding. seed is of random weights and dropout: full training of a pretrained model has
neither. data.seed is of the split and the shuffle of rows.
)",
     "trainctl submit job.json --deterministic true"},
    {"exclusive", "a host of its own, for times that can be compared", kExclusiveAlso,
     R"("exclusive": true, beside "devices", gives a job its hosts to itself: it waits until no other
job holds a device there, and none is placed there while it runs. Its ranks share out all CPUs
of the host, so a CPU slot has the threads of all the host's slots. Times are then those of the
job alone: on CPU slots two jobs beside each other share caches, memory and what processors
spare, and compare says that their times are not comparable. It costs waiting: as the first in
the queue it keeps later jobs off the hosts that it could use. As Slurm's --exclusive.
)",
     "trainctl submit job.json --exclusive true"},
    {"queue", "who starts next, and who may go before", kQueueAlso,
     R"(Jobs start by resources.priority, higher first, then by age; a gang gets all its devices at
once. The first job that has to wait holds the devices that it could use, and its start is
reserved: when the jobs that have them are expected to end, by their resources.time_limit, else
by the pace of their steps or the prediction. A job behind it may start before, on devices that
would be idle, if it ends before that start, by its time_limit or half again its predicted time;
or if devices are left over then. The first one starts no later for that. Where it is not known
when a running job ends, nobody passes. A short time_limit is how a short job starts soon: status
says which would do. describe shows the predicted start. Slurm calls it backfill.
--after j12 (resources.after) lets a job wait until j12 has succeeded, or with j12:any has ended.
If j12 ends otherwise the job is cancelled, as with Slurm's --kill-on-invalid-dep: it could never
start. A job that waits so holds nothing, and what it reads may be there only later.
)",
     "trainctl submit job.json --resources.time_limit 20min; trainctl status"},
    {"checkpoint", "what a run can go on from, after a restart or later", kCheckpointAlso,
     R"("checkpoint": {"every_steps": n} with an output.dir keeps weights, optimizer, data
position and schedule every n steps under output.dir/checkpoints: the last keep_last of them,
and the best by val_loss with keep_best. Each rank copies its part and writes it behind the
training; one that was not written whole is never used. A restart by resources.max_restarts goes
on from the last one; trainctl resume JOB makes a new job of an ended one that does, also with
other devices or another strategy. A checkpoint has the size of weights and optimizer: 12 bytes
a parameter with AdamW in fp32. (activation_checkpointing is another thing: trainctl explain
activation checkpointing.)
)",
     "trainctl submit job.json --checkpoint.every_steps 100 --output.dir out; trainctl resume JOB"},
    {"sweep", "one job for each value of a setting, and where memory ends", kSweepAlso,
     R"(--matrix train.micro_batch_size=1,2,4,8 makes four jobs, named by their values; a second
--matrix makes each combination. submit --matrix is the same, and so is sweep with --set of
several values. The jobs are a group: wait, cancel and compare take its name. --max-parallel
bounds how many run at once; --dry-run shows what is predicted of each, side by side.
While the micro batch varies the global batch stays, so that accumulation adapts and the runs
train alike: what is seen is time and memory. With --stop-at-oom they run one after the other,
smallest first as typed, as jobs of their own, and the first that is out of memory ends its row:
the one before it is the largest that fits. What is predicted not to fit is run too, as the
proof; without --stop-at-oom it is refused. The predicted peak stands beside the measured one.
)",
     "trainctl sweep job.json --matrix train.micro_batch_size=1,2,4,8 --stop-at-oom"},
    {"artifacts", "what a job saves, where it lies, how to get it", kArtifactsAlso,
     R"(output.dir and output.save say what is kept, on the host of rank 0: the model as a
Hugging Face folder, or an adapter. output.dtype "float16" rounds a model to that type. Each is
reported when it is written whole, with its size.
artifacts get copies it: from the path where that is on this machine, else in pieces of 1 MiB
through the coordinator and a worker of that host, which reads nothing but what ranks of that
job reported. export keeps all the rest: job files, metrics, logs, comparison.
)",
     "trainctl artifacts ls JOB; trainctl artifacts get JOB model"},
    {"profile", "where the time of a step goes, and a trace to look at", kProfileAlso,
     R"("profile": {"steps": 3, "skip": 5} traces three steps of each rank by LibTorch's profiler
once five have passed, or a short run's last steps. describe and compare show the seconds of a
step by kind: matrix products, attention, optimizer, other kernels; communication and copies
while nothing is computed; waiting for data; and host gaps, when a device idles until the host
has issued its next work. Each moment counts once, so they sum up to the step. With an output.dir
each rank writes output.dir/profile/rank-N.json, for ui.perfetto.dev or chrome://tracing, with
steps, forward, backward, attention and optimizer by name: artifacts get copies it. Traced steps
are slower, by more where kernels are small, and count in the run's times and rates like all
others; compare runs with the same profile, or read the median step. A trace ends before an
evaluation or a checkpoint, and after 2,048 blocks of the model (1,024 on a CPU slot), micro step
by micro step: it takes up to 1.6 GB of the host's memory. What is not asked for costs nothing.
)",
     "trainctl submit job.json --profile.steps 3 --output.dir out; trainctl describe JOB"},
    {"track", "curves for TensorBoard, written while a job trains", kTrackAlso,
     R"("track": ["tensorboard"] writes an event file for each attempt to output.dir/tensorboard on
the host of rank 0, as it trains: loss, val_loss, lr, tokens_per_second, step_seconds, memory by
kind and all else that rank 0 measures. tensorboard --logdir output.dir shows it and follows. After
a restart the curves go on from the checkpoint. A disk that takes no more ends the curves, with a
notice, not the job. What workers sample beside (utilization, power) and what other ranks measure
is in the site's own store: trainctl export JOB --tensorboard DIR (--mlflow, --wandb) has all of it.
)",
     "trainctl submit job.json --track tensorboard --output.dir out; tensorboard --logdir out"},
};

}  // namespace

std::span<const Explanation> Explanations() { return kExplanations; }

}  // namespace trainctl::client
