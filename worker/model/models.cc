#include "worker/model/llama.h"

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

// One family, one file, one row.
constexpr Family kFamilies[] = {
    {"llama", MakeOf<Llama>},
};

}  // namespace

base::Result<std::unique_ptr<Model>> MakeModel(const job::ModelShape& shape, const ModelOptions& options) {
  for (const Family& family : kFamilies) {
    if (shape.family == family.name) return family.make(shape, options);
  }
  return base::Error{base::Code::kInvalid, "model family '" + shape.family + "' is not known; llama is"};
}

}  // namespace trainctl::model
