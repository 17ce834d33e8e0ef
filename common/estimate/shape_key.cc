#include <set>
#include <sstream>

#include "common/estimate/lora_targets.h"
#include "common/estimate/memory_estimate.h"
#include "common/estimate/run_time.h"
#include "common/job/batch.h"
#include "common/job/check_job.h"
#include "common/job/trains.h"

namespace trainctl::job {
namespace {

void AddImage(std::ostream& key, const ImageShape& m) {
  key << " image";
  for (const int64_t size :
       {m.side, m.patch, m.vision_layers, m.vision_hidden, m.vision_intermediate, m.vision_heads,
        m.queries, m.qformer_layers, m.qformer_hidden, m.qformer_intermediate, m.qformer_heads,
        m.cross_every})
    key << ' ' << size;
  if (m.qformer_dropout > 0 || m.qformer_attention_dropout > 0) key << " dropout";
}

void AddModel(std::ostream& key, const ModelShape& m) {
  for (const int64_t size :
       {m.layers, m.hidden, m.intermediate, m.heads, m.kv_heads, m.head_dim, m.vocab})
    key << size << ' ';
  key << m.family << ' ' << m.tied_head;
  if (m.qkv_bias || m.out_bias || m.mlp_bias)
    key << " biases " << m.qkv_bias << m.out_bias << m.mlp_bias;
  if (m.head_norms) key << " head norms";
  if (m.dropout > 0) key << " dropout";
  if (m.image) AddImage(key, *m.image);
}

// What rows of this length compute otherwise.
void AddLongRows(std::ostream& key, const ModelShape& m, int64_t length) {
  if (!m.IsLocalAt(length)) return;
  key << " window " << m.sliding_window << " but for " << m.full_layers.size();
}

void AddMethod(std::ostream& key, const JobSpec& job, const ModelShape& model) {
  const auto number = [](auto value) { return static_cast<int>(value); };
  key << number(job.precision) << ' ' << number(job.engine) << ' ' << job.deterministic << ' '
      << number(job.strategy);
  if (job.strategy == StrategyKind::kFsdp)
    key << ' ' << number(job.sharding) << ' ' << number(job.fsdp_unit);
  key << " offload " << job.offload_optimizer << " checkpointing " << job.activation_checkpointing
      << " optimizer " << number(job.optimizer.name) << ' ' << (job.optimizer.momentum > 0)
      << " clips " << job.train.max_norm.has_value();
  if (job.offload_optimizer && job.exclusive) key << " exclusive";  // more CPUs for the optimizer
  if (job.quantize) key << " quantize " << number(*job.quantize);
  for (const std::string& part : job.freeze) key << " frozen " << part;
  if (!job.lora) return;
  key << " lora " << job.lora->r << ' ' << (job.lora->dropout > 0);
  std::set<std::string_view> of_encoder;
  for (const LoraTarget& target : LoraTargets(*job.lora, model)) {
    if (target.encoder_unit < 0 || of_encoder.insert(target.name).second) key << ' ' << target.name;
  }
}

}  // namespace

std::string ModelKey(const Inspection& inspection) {
  std::ostringstream key;
  AddModel(key, inspection.model);
  return key.str();
}

std::string StartKey(const JobSpec& asked, const Inspection& inspection) {
  const JobSpec job = ResolveJob(asked);
  std::ostringstream key;
  AddModel(key, inspection.model);
  key << " init " << static_cast<int>(job.model.init) << " devices " << job.devices << " resumes "
      << job.checkpoint.resume_from.has_value();
  if (job.quantize) key << " quantize " << static_cast<int>(*job.quantize);
  if (!Trains(job)) key << " texts";  // no data are read
  return key.str();
}

std::string ShapeKey(const JobSpec& asked, const Inspection& inspection) {
  const JobSpec job = ResolveJob(asked);
  const base::Result<BatchPlan> batch = PlanBatch(job);
  std::ostringstream key;
  AddModel(key, inspection.model);
  AddLongRows(key, inspection.model, SequenceLength(job, inspection));
  key << " T " << SequenceLength(job, inspection) << " data " << inspection.data_digest
      << " devices " << job.devices << " format " << static_cast<int>(job.data.format);
  for (const auto& [name, column] : job.data.columns) key << ' ' << name << ' ' << column;
  if (job.data.chat_template) key << " template " << static_cast<int>(*job.data.chat_template);
  if (batch) key << " micro " << batch->micro << " accumulation " << batch->accumulation;
  // The limit decides whether gradients are held whole (gradient_holding.h).
  if (job.strategy == StrategyKind::kFsdp && batch && batch->accumulation > 1) {
    key << " limit " << job.resources.gpu_memory_limit_bytes.value_or(0);
  }
  if (job.train.group_by_length) key << " grouped";
  if (job.train.packing) key << " packed";
  key << " method ";
  AddMethod(key, job, inspection.model);
  return key.str();
}

}  // namespace trainctl::job
