// Name, element type, shape and place of one tensor in a safetensors file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainctl::files {

enum class DType {
  kBool,
  kU8,
  kI8,
  kF8E5M2,
  kF8E4M3,
  kU16,
  kI16,
  kF16,
  kBF16,
  kU32,
  kI32,
  kF32,
  kU64,
  kI64,
  kF64
};

std::string_view Name(DType dtype);  // as safetensors spells it: "BF16"
std::optional<DType> ParseDType(std::string_view name);
int64_t WidthBytes(DType dtype);

struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;  // row-major; empty: a scalar
  int64_t begin =
      0;  // bytes [begin, end) from the end of the header; set by readers and by SafetensorsWriter
  int64_t end = 0;

  int64_t size_bytes() const { return end - begin; }
};

// The product of the shape times the width; nullopt where it overflows 63 bits or a size is
// negative.
std::optional<int64_t> ShapeBytes(DType dtype, const std::vector<int64_t>& shape);

}  // namespace trainctl::files
