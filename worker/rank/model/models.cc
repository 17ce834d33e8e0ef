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
    {"llama", MakeOf<Llama>}, {"mistral", MakeOf<Llama>}, {"qwen2", MakeOf<Llama>},
    {"qwen3", MakeOf<Llama>}, {"opt", MakeOf<Opt>},       {"blip-2", MakeOf<Opt>},
};

constexpr int64_t kQuantizedBlock = 64;  // elements that share a scale

base::Status CheckJob(const job::ModelShape& shape, const ModelOptions& options) {
  const std::vector<job::Problem> problems = job::CheckModel(JobOf(options), shape);
  if (problems.empty()) return base::Ok{};
  return base::Error{base::Code::kInvalid,
                     problems[0].path + ": " + problems[0].value + ": " + problems[0].hint};
}

base::Status CheckQuantized(const ops::ParameterTable& table) {
  for (const ops::ParamSpec& spec : table.params) {
    for (const ops::ParamPiece& piece : spec.pieces) {
      if (!spec.quantized || piece.rows * spec.columns() % kQuantizedBlock == 0) continue;
      return base::Error{base::Code::kInvalid,
                         "quantize: " + piece.name + " has " +
                             std::to_string(piece.rows * spec.columns()) +
                             " elements: expected a multiple of 64; leave quantize null"};
    }
  }
  return base::Ok{};
}

}  // namespace

job::JobSpec JobOf(const ModelOptions& options) {
  job::JobSpec job;
  job.lora = options.lora;
  job.freeze = options.freeze;
  job.train.max_seq_length = options.longest_row;
  if (!options.trains) job.train.max_steps = 0;
  return job;
}

base::Result<std::unique_ptr<Model>> MakeModel(const job::ModelShape& shape,
                                               const ModelOptions& options) {
  if (const base::Status checked = CheckJob(shape, options); !checked.ok()) return checked.error();
  std::string known;
  for (const Family& family : kFamilies) {
    known += (known.empty() ? "" : ", ") + std::string(family.name);
    if (shape.family != family.name) continue;
    std::unique_ptr<Model> model = family.make(shape, options);
    if (const base::Status quantized = CheckQuantized(model->parameters()); !quantized.ok())
      return quantized.error();
    return model;
  }
  return base::Error{base::Code::kInvalid,
                     "model family '" + shape.family + "' is not known; known are " + known};
}

}  // namespace trainctl::model
