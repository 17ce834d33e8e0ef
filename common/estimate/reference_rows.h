// What rows of a unit take where the reference kernels run (worker/rank/ops: layers,
// picture_layers, aten_kernels, matmul, attention), in bytes: the terms of memory_reference.cc and
// memory_encoder_reference.cc. Inside this room only. Pure.
//
// Temporaries of an expression live to its end, so that a line of such code holds several tensors.
// On CPU slots a product of bf16 matrices is made of fp32 copies of both.
#pragma once

#include <cstdint>

#include "common/estimate/memory_setting.h"
#include "common/model/model_description.h"

namespace trainctl::job {

// fp32 temporaries alive at once, of an element.
inline constexpr int64_t kNormBackward = 6;  // of a hidden element: unit, weighted and four of one
inline constexpr int64_t kDequantize =
    3;  // of a 4-bit code: its index, its value, the scaled value

struct ReferenceRows {
  // Of all samples together, given to units of this part.
  ReferenceRows(const MemorySetting& setting, int64_t rows, ModelPart part);

  int64_t n, e;  // rows, and bytes of the compute dtype
  // fp32 copies of bf16 values: of what kernels read, and of the operands of products.
  int64_t wide_input, wide_operand;
  bool is_cpu;
  bool trains;       // the part's own matrices
  bool adds_narrow;  // bf16 gradients to those of earlier micro steps
  bool drops;        // what adapters are given

  int64_t Kept(int64_t width) const { return n * e * width; }
  int64_t Wide(int64_t width) const { return n * kFp32Bytes * width; }

  // out = a · b into a given tensor: both operands and the product in fp32, then in bf16.
  int64_t Product(int64_t in, int64_t out) const;
  // The gradient of a matrix: none where it is frozen.
  int64_t WeightGrad(int64_t in, int64_t out) const;
  // A product that is added to a given tensor of this width.
  int64_t Added(int64_t in, int64_t out) const;

  // Beyond what is kept: NormBackward's own.
  int64_t NormBackward(int64_t width) const;
  // Of the norm itself: unit, and weighted.
  int64_t NormForward(int64_t width) const;

  // Rows times their mask.
  int64_t Dropped(int64_t width) const;
  // What an adapter adds to its input's gradient, and what it is given without what it drops.
  int64_t AdapterInputGrad(int64_t width) const;
  int64_t AdapterInput(int64_t width) const { return drops ? Dropped(width) : 0; }
};

// While a 4-bit matrix is made whole.
int64_t UnpackingBytes(int64_t elements);

}  // namespace trainctl::job
