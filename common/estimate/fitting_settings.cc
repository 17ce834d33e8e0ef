#include "common/estimate/fitting_settings.h"

#include <algorithm>
#include <optional>

#include "common/estimate/check_model.h"
#include "common/estimate/fit.h"
#include "common/estimate/host_memory.h"
#include "common/job/batch.h"
#include "common/job/check_job.h"
#include "common/job/job_json.h"
#include "common/job/trains.h"

namespace trainctl::job {
namespace {

constexpr size_t kMost = 4;
constexpr int64_t kMostParts = 4096;  // that a micro batch is cut into
constexpr int64_t kMostRanks = 1024;

// One change, spelled as it is typed.
struct Change {
  const char* overrides;
  void (*apply)(JobSpec&);
};

constexpr Change kCheckpointing = {"--activation_checkpointing true",
                                   [](JobSpec& job) { job.activation_checkpointing = 1; }};
constexpr Change kOffload = {"--offload_optimizer true",
                             [](JobSpec& job) { job.offload_optimizer = true; }};
constexpr Change kBf16 = {"--precision bf16-true",
                          [](JobSpec& job) { job.precision = Precision::kBf16True; }};
constexpr Change kLora = {"--lora '{}'", [](JobSpec& job) { job.lora.emplace(); }};
constexpr Change kQlora = {"--lora '{}' --quantize nf4",
                           [](JobSpec& job) { job.lora.emplace(), job.quantize = Quantize::kNf4; }};

class Search {
 public:
  Search(const JobSpec& job, const Inspection& inspection, const std::vector<SiteDevice>& devices)
      : job_(ResolveJob(job)), inspection_(inspection), devices_(devices) {}

  std::vector<FittingSetting> Run() {
    if (!Trains(job_)) {
      Try({kBf16});
      return std::move(found_);
    }
    TrySmallerMicroBatches(job_, "");
    Try({kCheckpointing});
    if (found_.empty())
      TrySmallerMicroBatches(With(job_, kCheckpointing), kCheckpointing.overrides);
    TrySharding();
    Try({kOffload});
    Try({kCheckpointing, kOffload});
    Try({kBf16});
    Try({kBf16, kCheckpointing});
    Try({kLora});
    Try({kQlora});
    Try({kBf16, kLora});
    Try({kBf16, kQlora});
    return std::move(found_);
  }

 private:
  static JobSpec With(JobSpec job, const Change& change) {
    change.apply(job);
    return job;
  }

  static std::string Joined(const std::string& left, const std::string& right) {
    return left.empty() ? right : left + " " + right;
  }

  bool Fits(const JobSpec& job, int64_t* peak) const {
    if (!CheckJob(job).empty() || !CheckModel(job, inspection_.model).empty() ||
        !CheckSite(job, devices_).empty())
      return false;
    const std::optional<Fit> fit = BestFit(job, inspection_, devices_);
    if (!fit || !FitsSafely(fit->peak_bytes, fit->limit_bytes) ||
        !CheckHostMemory(job, inspection_, devices_).empty())
      return false;
    *peak = fit->peak_bytes;
    return true;
  }

  bool Offer(const JobSpec& job, const std::string& overrides) {
    int64_t peak = 0;
    if (found_.size() == kMost || !Fits(job, &peak)) return false;
    found_.push_back({overrides, peak, job});
    return true;
  }

  // All changes together, where no part of them was enough; one that is made already is none.
  void Try(std::initializer_list<Change> changes) {
    JobSpec job = job_;
    std::string overrides;
    for (const Change& change : changes) {
      JobSpec changed = With(job, change);
      if (ToJson(changed) == ToJson(job)) continue;
      job = std::move(changed);
      overrides = Joined(overrides, change.overrides);
    }
    const bool is_more_than_needed =
        std::any_of(found_.begin(), found_.end(), [&](const FittingSetting& found) {
          return overrides.find(found.overrides) != std::string::npos;
        });
    if (!is_more_than_needed) Offer(job, overrides);
  }

  // The largest smaller micro batch that fits, its rows made up for by accumulation.
  void TrySmallerMicroBatches(const JobSpec& start, const std::string& overrides) {
    const base::Result<BatchPlan> batch = PlanBatch(start);
    if (!batch) return;
    const int64_t most_parts = std::min<int64_t>(batch->micro, kMostParts);
    for (int64_t parts = 2; parts <= most_parts; ++parts) {
      if (batch->micro % parts != 0) continue;
      const int64_t micro = batch->micro / parts;
      JobSpec job = start;
      std::string text = Joined(overrides, "--train.micro_batch_size " + std::to_string(micro));
      job.train.micro_batch_size = micro;
      if (!job.train.global_batch_size) {
        job.train.accumulate_grad_batches = batch->accumulation * (batch->micro / micro);
        text += " --train.accumulate_grad_batches " +
                std::to_string(*job.train.accumulate_grad_batches);
      }
      if (Offer(job, text)) return;
    }
  }

  // On the most devices of which the global batch is a multiple; as it is, and with the optimizer
  // in host memory.
  void TrySharding() {
    const base::Result<BatchPlan> batch = PlanBatch(job_);
    if (!batch || job_.strategy == StrategyKind::kFsdp) return;
    for (int64_t count = std::min<int64_t>(static_cast<int64_t>(devices_.size()), kMostRanks);
         count >= 2; --count) {
      const int64_t rows = batch->global / count;
      if (batch->global % count != 0) continue;
      JobSpec job = job_;
      job.devices = count;
      job.strategy = StrategyKind::kFsdp;
      std::string text = "--devices " + std::to_string(count) + " --strategy fsdp";
      if (rows % batch->micro != 0) {
        job.train.micro_batch_size = rows;
        text += " --train.micro_batch_size " + std::to_string(rows);
      }
      if (!job.train.global_batch_size) {
        job.train.accumulate_grad_batches = rows / *job.train.micro_batch_size;
        text += " --train.accumulate_grad_batches " +
                std::to_string(*job.train.accumulate_grad_batches);
      }
      if (Offer(job, text) || Offer(With(job, kOffload), Joined(text, kOffload.overrides))) return;
    }
  }

  JobSpec job_;
  const Inspection& inspection_;
  const std::vector<SiteDevice>& devices_;
  std::vector<FittingSetting> found_;
};

}  // namespace

std::vector<FittingSetting> FindFittingSettings(const JobSpec& job, const Inspection& inspection,
                                                const std::vector<SiteDevice>& devices) {
  return Search(job, inspection, devices).Run();
}

}  // namespace trainctl::job
