#include "common/job/check_job.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "common/base/ids.h"
#include "common/base/size.h"
#include "common/base/utf8.h"
#include "common/job/batch.h"
#include "common/job/combinations.h"
#include "common/job/constraint.h"
#include "common/job/data_format.h"
#include "common/job/hub_id.h"
#include "common/job/optimizer.h"
#include "common/job/output_folder.h"
#include "common/job/schema.h"
#include "common/job/trains.h"
#include "common/json/write_json.h"

namespace trainctl::job {
namespace {

// The canonical spelling of a key's value, for problems; "" for sections.
std::string Show(const JobSpec& job, const std::string& key) {
  const Field* field = FindField(key);
  const Section* section = SectionOf(key);
  if (field == nullptr || (section != nullptr && !section->IsPresent(job))) return "";
  return base::Excerpt(WriteJson(field->write(job)), kShownValueBytes);
}

// Collects problems of one job.
class Check {
 public:
  explicit Check(const JobSpec& job) : job_(job) {}

  void Refuse(const std::string& key, std::string expected, std::string hint = "") {
    problems_.push_back({key, 0, Show(job_, key), std::move(expected), std::move(hint)});
  }

  // Each value, written and read again by its own type: jobs that no file made obey the same
  // ranges.
  void Ranges() {
    JobSpec scratch = job_;
    for (const Field& field : Fields()) {
      const Section* section = SectionOf(field.key);
      if (section != nullptr && !section->IsPresent(job_)) continue;
      if (!field.read(field.write(job_), scratch)) Refuse(field.key, field.expected);
    }
  }

  void Name() {
    if (IsUsableName(job_.name)) return;
    Refuse("name",
           "1 to " + std::to_string(kLongestName) +
               " bytes without '/' and control characters, not of the form j1, g1, -x, . or ..",
           "name it by \"name\" or --name");
  }

  void Batches() {
    const TrainSpec& train = job_.train;
    if (train.global_batch_size && train.accumulate_grad_batches) {
      Refuse("train.accumulate_grad_batches",
             "only one of train.global_batch_size and train.accumulate_grad_batches");
    } else if (const auto plan = PlanBatch(job_); !plan) {
      const std::string message = plan.error().message;
      Refuse("train.global_batch_size", "a multiple of micro_batch_size × devices", message);
    }
    if (train.lr_warmup_steps && train.lr_warmup_fraction) {
      Refuse("train.lr_warmup_fraction",
             "only one of train.lr_warmup_steps and train.lr_warmup_fraction");
    }
  }

  void Combinations() {
    for (Problem& problem : FindClashes(job_))
      Refuse(problem.path, std::move(problem.expected), std::move(problem.hint));
  }

  void Columns() {
    const auto known = ColumnsOf(job_.data.format);
    std::string keys;
    for (const std::string_view key : known) keys += (keys.empty() ? "" : ", ") + std::string(key);
    for (const auto& [key, column] : job_.data.columns) {
      const bool is_known = std::ranges::find(known, key) != known.end();
      if (is_known && !column.empty()) continue;
      problems_.push_back(
          {"data.columns." + key, 0, base::Excerpt(column, kShownValueBytes),
           is_known ? "the name of a column in the file"
                    : (keys.empty() ? "no columns" : "only " + keys) + " with this data.format",
           ""});
    }
  }

  void Constraints() {
    for (const auto& [key, text] : job_.resources.constraints) {
      const auto constraint = ParseConstraint(key, text);
      if (!constraint) {
        problems_.push_back({"resources.constraints." + key, 0,
                             base::Excerpt(text, kShownValueBytes), constraint.error().message,
                             ""});
      }
    }
  }

  std::vector<Problem> Take() { return std::move(problems_); }

 private:
  const JobSpec& job_;
  std::vector<Problem> problems_;
};

bool IsId(std::string_view name) {
  const bool digits = name.size() > 1 && std::all_of(name.begin() + 1, name.end(),
                                                     [](char c) { return c >= '0' && c <= '9'; });
  return digits && (name[0] == 'j' || name[0] == 'g');
}

}  // namespace

bool IsUsableName(std::string_view name) {
  if (name.empty() || name.size() > kLongestName || IsId(name)) return false;
  if (name[0] == '-' || name == "." || name == "..") return false;
  while (!name.empty()) {
    const std::optional<base::CodePoint> first = base::FirstCodePoint(name);
    if (!first || first->value == '/' || base::IsControl(first->value)) return false;
    name.remove_prefix(first->bytes);
  }
  return true;
}

std::vector<Problem> CheckJob(const JobSpec& job) {
  Check check(job);
  check.Ranges();
  check.Name();
  check.Batches();
  check.Combinations();
  check.Columns();
  check.Constraints();
  return check.Take();
}

std::vector<std::string> NotesOn(const JobSpec& job) {
  std::vector<std::string> notes;
  const auto note_if = [&](bool applies, std::string text) {
    if (applies) notes.push_back(std::move(text));
  };
  const bool is_fsdp = job.strategy == StrategyKind::kFsdp;
  note_if(IsHubId(job.model.path),
          "model.path is no folder here: the Hugging Face cache of the workers' hosts is searched "
          "for it");
  note_if(Trains(job) && !job.output.dir, "nothing is kept: output.dir is null");
  note_if(job.output.dir && !WritesOutput(job),
          "nothing is written to output.dir: output.save is \"none\"");
  note_if(!is_fsdp && (job.sharding != Sharding::kFull || job.fsdp_unit != FsdpUnit::kBlock),
          "sharding and fsdp_unit have no effect without strategy fsdp");
  note_if(job.train.group_by_length &&
              (job.data.format == DataFormat::kPlain || job.data.format == DataFormat::kBin),
          "train.group_by_length has no effect: all rows of such data are of one length");
  note_if(job.train.packing &&
              (job.data.format == DataFormat::kPlain || job.data.format == DataFormat::kBin),
          "train.packing has no effect: each row of such data fills a sequence");
  note_if(job.eval.every_steps && !Validates(job.data) && job.eval.prompts.empty(),
          "no evaluation: data.val_split_fraction is 0");
  note_if(
      job.checkpoint.keep_best && !Validates(job.data),
      "checkpoint.keep_best has no effect: without data.val_split_fraction nothing is evaluated");
  note_if(job.resources.max_restarts > 0 && !job.checkpoint.every_steps,
          "a restart begins at step 0: checkpoint.every_steps is null");
  note_if(Trains(job) && job.resources.preemptible && !job.checkpoint.every_steps,
          "each time that it gives way to another job it begins again at step 0: "
          "checkpoint.every_steps is null");
  note_if(Trains(job) && job.resources.lease && !job.checkpoint.every_steps,
          "what it did is lost if its lease ends before it: checkpoint.every_steps is null");
  const OptimizerInfo& optimizer = InfoOf(job.optimizer.name);
  note_if(!optimizer.has_momentum && job.optimizer.momentum != 0,
          "optimizer.momentum has no effect on " + std::string(optimizer.name));
  note_if(job.train.max_steps && job.train.lr_warmup_steps.value_or(0) > *job.train.max_steps,
          "the warm-up (" + base::WithThousands(job.train.lr_warmup_steps.value_or(0)) +
              " steps) is longer than the run: the learning rate stays on the ramp");
  return notes;
}

JobSpec ResolveJob(JobSpec job) {
  if (job.strategy == StrategyKind::kAuto)
    job.strategy = job.devices > 1 ? StrategyKind::kDdp : StrategyKind::kSingle;
  return job;
}

}  // namespace trainctl::job
