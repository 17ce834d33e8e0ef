#include "worker/rank/state/element_types.h"

#include "common/base/check.h"

namespace trainctl::train {
namespace {

struct Pair {
  files::DType dtype;
  at::ScalarType type;
};

constexpr Pair kPairs[] = {
    {files::DType::kF32, at::kFloat}, {files::DType::kBF16, at::kBFloat16},
    {files::DType::kF16, at::kHalf},  {files::DType::kF64, at::kDouble},
    {files::DType::kU8, at::kByte},   {files::DType::kI8, at::kChar},
    {files::DType::kI32, at::kInt},   {files::DType::kI64, at::kLong},
};

}  // namespace

std::optional<at::ScalarType> ScalarTypeOf(files::DType dtype) {
  for (const Pair& pair : kPairs) {
    if (pair.dtype == dtype) return pair.type;
  }
  return std::nullopt;
}

at::ScalarType ScalarTypeOf(job::WeightsType type) {
  switch (type) {
    case job::WeightsType::kFloat32: return at::kFloat;
    case job::WeightsType::kBfloat16: return at::kBFloat16;
    case job::WeightsType::kFloat16: return at::kHalf;
  }
  return at::kFloat;
}

files::DType DTypeOf(at::ScalarType type) {
  for (const Pair& pair : kPairs) {
    if (pair.type == type) return pair.dtype;
  }
  CHECK(false) << "no file holds " << c10::toString(type);
  return files::DType::kF32;
}

}  // namespace trainctl::train
