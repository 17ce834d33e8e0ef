#include "common/estimate/step_time.h"

#include <algorithm>

#include "common/estimate/encoder_work.h"
#include "common/estimate/frozen_parts.h"
#include "common/estimate/lora_targets.h"
#include "common/estimate/memory_estimate.h"
#include "common/estimate/memory_units.h"
#include "common/job/optimizer.h"
#include "common/model/layout.h"
#include "common/model/model_description.h"

namespace trainctl::job {
namespace {

// Each with the rows that it is fitted to, of deploy/recipes/README.md or tests/gpu/training.py.
// tests/job/measured_times_test.cc holds all other rows out, and shows their error apart.
constexpr double kAttentionFactor =
    4.5;  // its kernels reach less than a quarter of a matrix product's rate: single-7
// Weights are read, and their gradients are written. Products of few rows do not hide this share of
// the time: single-9.
constexpr double kExposedWeights = 0.5;
constexpr double kPaddedFactor = 4;  // more, where a head's size is padded and copied: single-6
constexpr double kReferenceAttention = 5;  // plain products and softmax: quickstart on CPU slots
constexpr double kReferenceFactor =
    3;  // bytes that reference kernels move for each that fused ones do
constexpr double kBlockKernels = 40;                           // forward and backward: single-10
constexpr double kHeadNormKernels = 16, kHeadNormPasses = 20;  // over q and k: not fitted
constexpr double kSwiGluPasses = 9, kReluPasses = 3;           // over FFN elements: opt-2.7b
constexpr double kDropoutPasses = 4;    // over the hidden states, twice a block: opt-2.7b
constexpr double kAdapterKernels = 14;  // single-10, single-12
constexpr double kAdapterIn = 8, kAdapterOut = 4;  // passes over an adapted matrix's input and
                                                   // output, dropout's included: single-12
constexpr double kCpuAdapterSlowness =
    5;                                // products with 8 to 32 columns on a CPU: quickstart's LoRA
constexpr double kUnpackBytes = 2.6;  // a 4-bit parameter: read, and written in bf16: single-14
// Of the shorter of traffic and arithmetic: reductions by kernels multi-3 and multi-4 of
// 2026-11-22, gathers by copies tiny-2gpu-fsdp-micro1.
constexpr double kExposedReductions = 0.45, kExposedGathers = 0.12;
constexpr double kHostAdamParameters =
    6.0e9;  // a second, all ranks of a host: further-zero2-offload, 7b-2gpu-offload

struct Counts {
  double block_matrices = 0;
  double matrices = 0;    // with the head
  double recomputed = 0;  // matrices of blocks without each one's last, whose product is not saved
  bool trains_blocks = true;  // else their backward does not run
  double adapters = 0;
  double adapted = 0;        // matrices
  double adapter_bytes = 0;  // elements passed over, a position
  double units = 0;          // of the model
  double trainable = 0;
  double all = 0;
  double quantized = 0;
  double ffn_passes = kSwiGluPasses;
  EncoderWork encoder;  // of a sample
};

Counts CountsOf(const JobSpec& job, const ModelShape& m) {
  const ModelUnits units = UnitsOf(job, m);
  const auto sum = [&](auto member) {
    return static_cast<double>(
        SumOverUnits(units, [&](const UnitElements& unit) { return unit.*member; }));
  };
  Counts counts;
  const ModelDescription model = Describe(m);
  counts.block_matrices = static_cast<double>(m.layers * MatrixElements(model.block));
  counts.matrices = counts.block_matrices + static_cast<double>(m.vocab * m.hidden);
  counts.recomputed =
      counts.block_matrices - static_cast<double>(m.layers * MatrixElements({model.block.back()}));
  counts.ffn_passes = model.gates ? kSwiGluPasses : kReluPasses;
  counts.trains_blocks = units.block.trainable > 0 || EncoderTrains(units, units.encoder.size());
  counts.units = static_cast<double>(units.layers + 2) + static_cast<double>(units.encoder.size());
  counts.encoder = EncoderWorkOf(job, m);
  counts.trainable = sum(&UnitElements::trainable);
  counts.quantized = sum(&UnitElements::quantized);
  counts.all = counts.trainable + counts.quantized + sum(&UnitElements::frozen);
  if (!job.lora) return counts;
  counts.adapters = counts.trainable;
  for (const EncoderElements& unit : units.encoder)
    counts.adapters -= static_cast<double>(unit.elements.trainable);
  for (const LoraTarget& target : LoraTargets(*job.lora, m)) {
    if (target.encoder_unit >= 0) continue;  // EncoderWork has them
    const double times = target.name == "head" ? 1 : static_cast<double>(m.layers);
    counts.adapted += times;
    counts.adapter_bytes += times * (kAdapterIn * static_cast<double>(target.in) +
                                     kAdapterOut * static_cast<double>(target.out));
  }
  return counts;
}

double ComputeBytes(const JobSpec& job) { return job.precision == Precision::k32True ? 4 : 2; }
double GradBytes(const JobSpec& job) { return job.precision == Precision::kBf16True ? 2 : 4; }

// The micro steps of one rank, all alike.
class MicroStep {
 public:
  MicroStep(const RunPlan& plan, const Inspection& inspection, const StepSetting& setting)
      : job_(plan.job), m_(inspection.model), setting_(setting), n_(CountsOf(job_, m_)) {
    length_ = RowPositions(inspection, plan.batch);
    samples_ = static_cast<double>(plan.batch.micro);
    positions_ = samples_ * length_;
    if (job_.train.packing && inspection.packed_sequences > 0) Pack(inspection);
    block_passes_ = n_.trains_blocks ? 1 : kForwardShare;
    if (job_.activation_checkpointing > 0 && n_.trains_blocks)
      again_ = 1.0 / static_cast<double>(job_.activation_checkpointing);
  }

  const Counts& counts() const { return n_; }

  // accumulates: adds to gradients that are there.
  double Arithmetic(bool accumulates) const {
    const double flops = job_.precision == Precision::k32True ? setting_.rates.fp32_flops
                                                              : setting_.rates.bf16_flops;
    const double gradients = accumulates ? GradBytes(job_) * n_.trainable : 0;
    const double kernels =
        (kBlockKernels + (m_.head_norms ? kHeadNormKernels : 0)) * static_cast<double>(m_.layers) *
            (block_passes_ + again_ * kForwardShare) +
        kAdapterKernels * (n_.adapted + n_.encoder.adapted) + kBlockKernels * n_.encoder.blocks;
    const double encoder_bytes = samples_ * ComputeBytes(job_) * n_.encoder.elements *
                                 (is_reference() ? kReferenceFactor : 1);
    const double bytes = positions_ * Bytes() + WeightBytes() + encoder_bytes +
                         2 * kUnpackBytes * n_.quantized + gradients;
    const double on_device = (positions_ * Flops() + samples_ * n_.encoder.flops) / flops +
                             bytes / setting_.rates.memory_bytes +
                             kernels * setting_.rates.kernel_seconds;
    return setting_.is_cpu ? on_device
                           : std::max(on_device, kernels * setting_.rates.dispatch_seconds);
  }

 private:
  bool is_reference() const { return setting_.is_cpu || job_.engine == EngineKind::kReference; }

  // Mean positions of a row as micro batches pad it. Where rows are sorted, the micro batches of a
  // run share the distance from its longest row to the mean.
  double RowPositions(const Inspection& inspection, const BatchPlan& batch) const {
    const auto longest = static_cast<double>(SequenceLength(job_, inspection));
    if (inspection.rows <= 0 || inspection.total_tokens <= 0) return longest;
    const double mean =
        static_cast<double>(inspection.total_tokens) / static_cast<double>(inspection.rows);
    const auto padding = [&](int64_t of_rows) {
      const auto rows = static_cast<double>(of_rows);
      return std::max(0.0, longest - mean) * (rows - 1) / (rows + 7);
    };
    const int64_t run = RowsSortedTogether(inspection.rows, batch.global);
    const double added =
        job_.train.group_by_length
            ? padding(run) * static_cast<double>(batch.micro) / static_cast<double>(run)
            : padding(batch.micro);
    const double of_rows = mean + added;
    const auto half_multiple =
        static_cast<double>(LengthMultiple(static_cast<int64_t>(of_rows))) / 2;
    return std::min(longest, of_rows + half_multiple);
  }

  // Micro batches are as long as their longest sequence, and most come near it. A position attends
  // to those of its own row.
  void Pack(const Inspection& inspection) {
    positions_ = samples_ * static_cast<double>(SequenceLength(job_, inspection));
    length_ = std::min(length_, static_cast<double>(inspection.total_tokens) /
                                    static_cast<double>(inspection.rows));
  }

  // Of what attention computes without a window, over all layers. On CPUs a piece of positions has
  // the keys of all their windows: those that one hides are computed too.
  double AttendedShare() const {
    const auto window = static_cast<double>(m_.sliding_window);
    if (window == 0 || window >= length_) return 1;
    // An inspection may be anybody's.
    const double full = std::min(1.0, static_cast<double>(m_.full_layers.size()) /
                                          static_cast<double>(std::max<int64_t>(1, m_.layers)));
    const double piece =
        setting_.is_cpu ? std::min(window, static_cast<double>(kMostWindowPiece)) : 0;
    const double shown = window / length_ * (2 - window / length_);
    const double hidden = piece / length_ * (2 - window / length_);
    return full + (1 - full) * (shown + hidden);
  }

  // Of a position.
  double Flops() const {
    const bool is_padded = m_.head_dim % 8 != 0;
    const double factor =
        is_reference() ? kReferenceAttention : kAttentionFactor * (is_padded ? kPaddedFactor : 1);
    const double attention = factor * 6 * static_cast<double>(m_.layers * m_.heads * m_.head_dim) *
                             length_ * AttendedShare();
    const double adapters = 6 * n_.adapters * (setting_.is_cpu ? kCpuAdapterSlowness : 1);
    const double frozen_or_trained = IsFrozen(job_, ModelPart::kLanguage) ? 4 : 6, forward = 2;
    const double of_blocks = n_.trains_blocks ? frozen_or_trained : forward;
    return frozen_or_trained * (n_.matrices - n_.block_matrices) + of_blocks * n_.block_matrices +
           block_passes_ * attention + adapters +
           again_ * (forward * n_.recomputed + kForwardShare * attention);
  }

  // On CPU slots the rates of arithmetic hold them.
  double WeightBytes() const {
    if (setting_.is_cpu) return 0;
    const double passes = IsFrozen(job_, ModelPart::kLanguage) ? 2 : 3;
    return kExposedWeights * passes * ComputeBytes(job_) * n_.matrices;
  }

  double HeadNormWidth() const {
    return static_cast<double>((m_.heads + m_.kv_heads) * m_.head_dim);
  }

  double Bytes() const {
    const double head_norms = m_.head_norms ? kHeadNormPasses * HeadNormWidth() : 0;
    const double hidden_passes = 30 + (m_.dropout > 0 ? kDropoutPasses : 0);
    const double blocks = static_cast<double>(m_.layers) *
                          (hidden_passes * static_cast<double>(m_.hidden) +
                           n_.ffn_passes * static_cast<double>(m_.intermediate) + head_norms);
    const double elements =
        blocks * (block_passes_ + again_ * kForwardShare) + static_cast<double>(4 * m_.vocab);
    return ComputeBytes(job_) *
           (elements * (is_reference() ? kReferenceFactor : 1) + n_.adapter_bytes);
  }

  const JobSpec& job_;
  const ModelShape& m_;
  const StepSetting& setting_;
  const Counts n_;
  double length_ = 0, samples_ = 0, positions_ = 0;
  double again_ = 0;         // the share of blocks that are computed again
  double block_passes_ = 1;  // of a block's forward and backward, the share that runs
};

struct Collectives {
  double bytes = 0;
  double count = 0;

  double Seconds(const DeviceRates& rates) const {
    return bytes / rates.collective_bytes + count * rates.collective_seconds;
  }
};

// What one rank sends in a step: gathers in each micro step, reductions in each or in the last.
struct Traffic {
  Collectives gathers, reductions;
  bool reduces_in_each = false;
  bool hides = true;
};

Traffic TrafficOf(const JobSpec& job, const Counts& n, bool holds_gradients) {
  if (job.devices == 1) return {};
  const double world = static_cast<double>(job.devices), share = (world - 1) / world;
  const bool is_fsdp = job.strategy == StrategyKind::kFsdp, reduces_whole = !is_fsdp || job.lora;
  Traffic traffic;
  traffic.reductions = {share * GradBytes(job) * n.trainable * (reduces_whole ? 2 : 1), n.units};
  if (!is_fsdp) return traffic;
  const bool is_one_unit = job.fsdp_unit == FsdpUnit::kModel;
  const double gathers = job.sharding == Sharding::kGradOp || is_one_unit ? 1 : 2;
  traffic.gathers = {share * gathers * ComputeBytes(job) * (job.lora ? n.all - n.trainable : n.all),
                     gathers * n.units};
  traffic.reduces_in_each = !job.lora && !holds_gradients;
  traffic.hides = !is_one_unit;
  return traffic;
}

// Traffic runs beside arithmetic, but for a share of the shorter of both.
double Together(double arithmetic, double gathers, double reductions, bool hides) {
  const double traffic = gathers + reductions;
  if (traffic == 0) return arithmetic;
  const double share =
      hides ? (kExposedGathers * gathers + kExposedReductions * reductions) / traffic : 1;
  return std::max(arithmetic, traffic) + share * std::min(arithmetic, traffic);
}

double OptimizerBytes(const JobSpec& job) {
  const OptimizerInfo& optimizer = InfoOf(job.optimizer.name);
  return optimizer.slowness * optimizer.update_bytes[static_cast<size_t>(job.precision)];
}

}  // namespace

double StepSeconds(const RunPlan& plan, const Inspection& inspection, const StepSetting& setting) {
  const JobSpec& job = plan.job;
  const MicroStep micro_step(plan, inspection, setting);
  const Counts& n = micro_step.counts();
  const Traffic traffic = TrafficOf(job, n, setting.holds_gradients);
  const auto seconds = [&](bool is_first, bool is_last) {
    const double reductions =
        is_last || traffic.reduces_in_each ? traffic.reductions.Seconds(setting.rates) : 0;
    return Together(micro_step.Arithmetic(!is_first), traffic.gathers.Seconds(setting.rates),
                    reductions, traffic.hides);
  };
  const int64_t accumulation = plan.batch.accumulation;
  double all_but_last = 0;
  if (accumulation > 1)
    all_but_last =
        seconds(true, false) + static_cast<double>(accumulation - 2) * seconds(false, false);
  const double last = seconds(accumulation == 1, true);
  const bool shards = job.strategy == StrategyKind::kFsdp && !job.lora;
  const double held = n.trainable / static_cast<double>(shards ? job.devices : 1);
  if (!job.offload_optimizer)
    return all_but_last + last + OptimizerBytes(job) * held / setting.rates.memory_bytes;
  const double copies = 2 * ComputeBytes(job) * held / setting.rates.host_copy_bytes;
  return all_but_last + kForwardShare * last +
         std::max({(1 - kForwardShare) * last, n.trainable / kHostAdamParameters, copies});
}

double LoadedBytes(const JobSpec& job, const ModelShape& model) {
  return ComputeBytes(job) * CountsOf(job, model).all;
}

}  // namespace trainctl::job
