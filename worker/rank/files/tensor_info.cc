#include "worker/rank/files/tensor_info.h"

#include <array>

#include "common/base/check.h"

namespace trainctl::files {
namespace {

struct DTypeRow {
  DType dtype;
  std::string_view name;
  int64_t width_bytes;
};

constexpr std::array kDTypes = {
    DTypeRow{DType::kBool, "BOOL", 1},      DTypeRow{DType::kU8, "U8", 1},
    DTypeRow{DType::kI8, "I8", 1},          DTypeRow{DType::kF8E5M2, "F8_E5M2", 1},
    DTypeRow{DType::kF8E4M3, "F8_E4M3", 1}, DTypeRow{DType::kU16, "U16", 2},
    DTypeRow{DType::kI16, "I16", 2},        DTypeRow{DType::kF16, "F16", 2},
    DTypeRow{DType::kBF16, "BF16", 2},      DTypeRow{DType::kU32, "U32", 4},
    DTypeRow{DType::kI32, "I32", 4},        DTypeRow{DType::kF32, "F32", 4},
    DTypeRow{DType::kU64, "U64", 8},        DTypeRow{DType::kI64, "I64", 8},
    DTypeRow{DType::kF64, "F64", 8},
};

const DTypeRow& RowOf(DType dtype) {
  const auto index = static_cast<size_t>(dtype);
  CHECK(index < kDTypes.size() && kDTypes[index].dtype == dtype) << index;
  return kDTypes[index];
}

}  // namespace

std::string_view Name(DType dtype) { return RowOf(dtype).name; }

std::optional<DType> ParseDType(std::string_view name) {
  for (const DTypeRow& row : kDTypes) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

int64_t WidthBytes(DType dtype) { return RowOf(dtype).width_bytes; }

std::optional<int64_t> ShapeBytes(DType dtype, const std::vector<int64_t>& shape) {
  int64_t bytes = WidthBytes(dtype);
  for (const int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
  }
  return bytes;
}

}  // namespace trainctl::files
