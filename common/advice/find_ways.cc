#include <algorithm>
#include <functional>
#include <map>
#include <ranges>
#include <utility>

#include "common/advice/reduction_limit.h"
#include "common/advice/variants.h"
#include "common/advice/way.h"
#include "common/base/size.h"
#include "common/estimate/check_model.h"
#include "common/estimate/fit.h"
#include "common/estimate/gradient_holding.h"
#include "common/estimate/host_memory.h"
#include "common/job/batch.h"
#include "common/job/check_job.h"
#include "common/job/linked_gang.h"
#include "common/job/run_plan.h"

namespace trainctl::advice {
namespace {

using job::JobSpec;

std::vector<int64_t> Divisors(int64_t number) {
  std::vector<int64_t> small, large;
  for (int64_t i = 1; i * i <= number; ++i) {
    if (number % i != 0) continue;
    small.push_back(i);
    if (i * i != number) large.push_back(number / i);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

// The same global batch in micro batches of this size. The key that the job names keeps its sense:
// one that counts accumulation goes on to do so only if the number stays.
void SetMicroBatch(const job::BatchPlan& asked, int64_t micro, JobSpec* job) {
  job->train.micro_batch_size = micro;
  const int64_t accumulation = asked.global / (micro * job->devices);
  if (job->train.global_batch_size ||
      job->train.accumulate_grad_batches.value_or(1) == accumulation)
    return;
  job->train.accumulate_grad_batches.reset();
  job->train.global_batch_size = asked.global;
}

std::string ReasonOf(const job::Problem& problem) {
  return problem.hint.empty() ? problem.path + ": expected " + problem.expected
                              : problem.path + ": " + problem.hint;
}

// As submit says it, but for the value: it is another one of each way.
std::string ReasonByPolicy(const job::Problem& problem) {
  return problem.path + ": expected " + problem.expected + "; " + problem.hint;
}

class Search {
 public:
  Search(const Question& question, const job::BatchPlan& batch)
      : question_(question), batch_(batch), asked_(job::ResolveJob(question.job)) {}

  Ways Run() {
    ways_.asked = Costed(asked_);
    for (int64_t devices = 1; devices <= question_.devices; ++devices) {
      if (batch_.global % devices == 0) {
        TryOn(devices);
      } else {
        ++ways_.considered;
        indivisible_.push_back(devices);
      }
    }
    ways_.asked_refused = WhyAskedIsRefused();
    ExcludeIndivisible();
    for (auto& [reason, exclusion] : reasons_) ways_.excluded.push_back(std::move(exclusion));
    std::ranges::stable_sort(ways_.excluded, std::ranges::greater{}, &Exclusion::ways);
    return std::move(ways_);
  }

 private:
  void TryOn(int64_t devices) {
    const std::vector<JobSpec> jobs = VariantsOf(asked_, devices, question_);
    // With it the learning rate follows the number of devices.
    const bool rate_changes = asked_.optimizer.lr_scaling == job::LrScaling::kLinear;
    for (const int64_t micro : Divisors(batch_.global / devices)) {
      for (JobSpec job : jobs) {
        SetMicroBatch(batch_, micro, &job);
        ++ways_.considered;
        if (rate_changes && devices != asked_.devices) {
          Exclude("optimizer.lr_scaling: the learning rate follows the number of devices");
        } else {
          Try(job);
        }
      }
    }
  }

  void Try(const JobSpec& job) {
    if (const std::string why = WhyRefused(job); !why.empty())
      return static_cast<void>(Exclude(why));
    Way way = Costed(job);
    if (std::optional<Way> other = ReducingOften(way)) {
      ++ways_.considered;
      Take(std::move(*other));
    }
    Take(std::move(way));
  }

  // By its settings, the model, the devices or the site's policy, whatever memory it needs. Empty:
  // it is not.
  std::string WhyRefused(const JobSpec& job) {
    const std::vector<job::Problem> problems = job::CheckJob(job);
    if (!problems.empty()) return ReasonOf(problems.front());
    const std::vector<job::Problem> of_policy =
        job::CheckPolicy(question_.policy, question_.user, job, job.devices);
    if (!of_policy.empty()) return ReasonByPolicy(of_policy.front());
    const std::vector<job::Problem> of_model = job::CheckModel(job, question_.inspection.model);
    if (!of_model.empty()) return ReasonOf(of_model.front());
    std::string reason;
    if (!job::MeetsConstraints(job, question_.device, &reason)) return reason;
    if (job::LinksAskedFor(job) && MostLinkedFor(job) < job.devices)
      return "resources.constraints.gpu.links: the site has no " + std::to_string(job.devices) +
             " devices linked so";
    return "";
  }

  std::string WhyAskedIsRefused() {
    const Way& asked = ways_.asked;
    if (asked_.devices > question_.devices) return TooFewText() + EnoughText();
    if (std::string why = WhyRefused(asked_); !why.empty()) return why;
    if (asked.limit_bytes > 0 && !job::FitsSafely(asked.peak_bytes(), asked.limit_bytes))
      return "it does not fit " + base::FormatBytes(asked.limit_bytes) + " with a margin";
    const auto shortage = job::FindHostShortage(asked_, asked.memory, question_.all);
    return shortage ? shortage->Text() : "";
  }

  // "it needs 8 devices of one model, and there are 2 × NVIDIA H200 (139.00 GiB) and 4 × …".
  std::string TooFewText() const {
    std::string text = "it needs " + std::to_string(asked_.devices) + " devices" +
                       (question_.others.empty() ? "" : " of one model") + ", and there are " +
                       TextOf(DeviceModel{question_.device, question_.devices});
    for (const DeviceModel& other : question_.others) text += " and " + TextOf(other);
    return text;
  }

  // "; of the first, 2 are enough for 40 ways, 1 for 32": of the ways that fit.
  std::string EnoughText() const {
    constexpr size_t kMostNumbers = 4;
    std::map<int64_t, int64_t, std::greater<>> ways;  // by the number of their devices
    for (const Way& way : ways_.fitting) ++ways[way.job.devices];
    if (ways.empty()) return "; no way fits these";
    std::string text = question_.others.empty() ? "; " : "; of the first ";
    for (const auto& [devices, count] : ways | std::views::take(kMostNumbers)) {
      const bool is_first = devices == ways.begin()->first;
      text += is_first ? std::to_string(devices) + (devices == 1 ? " is" : " are") + " enough for "
                       : ", " + std::to_string(devices) + " for ";
      text += base::WithThousands(count) + (is_first ? count == 1 ? " way" : " ways" : "");
    }
    return text + (ways.size() > kMostNumbers ? ", …" : "");
  }

  // Found once for each number of devices; nothing else of a way changes it.
  int64_t MostLinkedFor(const JobSpec& job) {
    const auto [known, is_new] = most_linked_.try_emplace(job.devices, 0);
    if (is_new)
      known->second = question_.all.empty() ? job.devices : job::MostLinked(job, question_.all);
    return known->second;
  }

  // Instead of once a step.
  std::optional<Way> ReducingOften(const Way& once) const {
    const std::optional<int64_t> limit = LimitThatReduces(once.memory);
    if (!limit) return std::nullopt;
    JobSpec job = once.job;
    job.resources.gpu_memory_limit_bytes = limit;
    return Costed(job, job::EstimateMemory(job, question_.inspection, question_.device.kind));
  }

  void Take(Way way) {
    if (way.limit_bytes > 0 && !job::FitsSafely(way.peak_bytes(), way.limit_bytes)) {
      Exclusion& exclusion = Exclude("more memory than a device has");
      exclusion.least_peak_bytes =
          std::min(exclusion.least_peak_bytes.value_or(way.peak_bytes()), way.peak_bytes());
    } else if (const auto shortage = job::FindHostShortage(way.job, way.memory, question_.all)) {
      ExcludeForHosts(*shortage);
    } else {
      ways_.fitting.push_back(std::move(way));
    }
  }

  // One way for each number of devices.
  void ExcludeIndivisible() {
    if (indivisible_.empty()) return;
    constexpr size_t kMostNamed = 6;
    std::string reason =
        "devices: the global batch of " + std::to_string(batch_.global) + " is no multiple of ";
    for (size_t i = 0; i < std::min(kMostNamed, indivisible_.size()); ++i)
      reason += (i > 0 ? ", " : "") + std::to_string(indivisible_[i]);
    if (indivisible_.size() > kMostNamed) reason += ", …";
    Exclude(reason).ways = std::ssize(indivisible_);
  }

  // The reason is that of the least of them.
  void ExcludeForHosts(const job::HostShortage& shortage) {
    Exclusion& exclusion = Exclude("host memory");
    if (!least_shortage_ || shortage.rank_bytes < least_shortage_->rank_bytes)
      least_shortage_ = shortage;
    exclusion.reason =
        least_shortage_->Text() + (exclusion.ways > 1 ? ", the least of these ways" : "");
  }

  Way Costed(const JobSpec& job) const {
    return Costed(job, job::EstimateMemoryOn(job, question_.inspection, question_.device.kind,
                                             question_.device.memory_bytes));
  }

  Way Costed(const JobSpec& job, job::MemoryEstimate memory) const {
    Way way{.job = job,
            .memory = std::move(memory),
            .limit_bytes = job::MemoryLimit(job, question_.device)};
    way.time = job::EstimateTime(job, question_.inspection, question_.device.name,
                                 way.memory.holds_gradients.value_or(false));
    return way;
  }

  Exclusion& Exclude(const std::string& reason) {
    Exclusion& exclusion = reasons_[reason];
    exclusion.reason = reason;
    ++exclusion.ways;
    return exclusion;
  }

  const Question& question_;
  const job::BatchPlan batch_;  // of the job as it is asked
  const JobSpec asked_;
  Ways ways_;
  std::map<std::string, Exclusion> reasons_;
  std::map<int64_t, int64_t> most_linked_;  // by a way's devices
  std::optional<job::HostShortage> least_shortage_;
  std::vector<int64_t> indivisible_;  // numbers of devices that don't divide the global batch
};

}  // namespace

base::Result<Ways> FindWays(const Question& question) {
  const job::Inspection& inspection = question.inspection;
  const base::Result<job::RunPlan> plan = job::PlanRun(question.job, job::CountedOf(inspection));
  if (!plan.ok()) return plan.error();
  return Search(question, plan->batch).Run();
}

}  // namespace trainctl::advice
