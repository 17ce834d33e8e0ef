#include "common/estimate/check_model.h"
#include "worker/rank/model/llama.h"
#include "worker/rank/model/opt.h"

namespace trainctl::model {
namespace {

using Make = std::unique_ptr<Model> (*)(const job::ModelShape&, const ModelOptions&);

struct Family {
  const char* name;
  Make make;
};

template <class M>
std::unique_ptr<Model> MakeOf(const job::ModelShape& shape, const ModelOptions& options) {
  return std::make_unique<M>(shape, options);
}

// One family, one row; those of one structure share a file.
constexpr Family kFamilies[] = {
    {"llama", MakeOf<Llama>}, {"mistral", MakeOf<Llama>}, {"ministral", MakeOf<Llama>},
    {"qwen2", MakeOf<Llama>}, {"qwen3", MakeOf<Llama>},   {"opt", MakeOf<Opt>},
    {"blip-2", MakeOf<Opt>},
};

base::Status CheckJob(const job::ModelShape& shape, const ModelOptions& options) {
  const std::vector<job::Problem> problems = job::CheckModel(JobOf(options), shape);
  if (problems.empty()) return base::Ok{};
  return base::Error{base::Code::kInvalid,
                     problems[0].path + ": " + problems[0].value + ": " + problems[0].hint};
}

}  // namespace

job::JobSpec JobOf(const ModelOptions& options) {
  job::JobSpec job;
  job.lora = options.lora;
  job.freeze = options.freeze;
  if (options.quantize) job.quantize = job::Quantize::kNf4;  // in either form
  job.train.max_seq_length = options.longest_row;
  if (!options.trains) job.train.max_steps = 0;
  return job;
}

std::vector<std::string> FamilyNames() {
  std::vector<std::string> names;
  for (const Family& family : kFamilies) names.emplace_back(family.name);
  return names;
}

base::Result<std::unique_ptr<Model>> MakeModel(const job::ModelShape& shape,
                                               const ModelOptions& options) {
  if (const base::Status checked = CheckJob(shape, options); !checked.ok()) return checked.error();
  std::string known;
  for (const Family& family : kFamilies) {
    known += (known.empty() ? "" : ", ") + std::string(family.name);
    if (shape.family != family.name) continue;
    return family.make(shape, options);
  }
  return base::Error{base::Code::kInvalid,
                     "model family '" + shape.family + "' is not known; known are " + known};
}

}  // namespace trainctl::model
