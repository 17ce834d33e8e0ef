// Comparing a kernel's output with an oracle in float64, and counting what failed.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace trainctl::gpu {

// Checks of one program. Not thread-safe.
class Checks {
 public:
  // got, of any dtype, is want (float64) rounded once to got's dtype, give or take the error of
  // fp32 arithmetic. That is half a unit in the last place of bf16; fp32_tolerance relative to the
  // element and to the largest element (sums cancel); and floor, whatever its size.
  void Near(const std::string& what, const at::Tensor& got, const at::Tensor& want,
            double fp32_tolerance = 4e-6, double floor = 0);
  void Equal(const std::string& what, const at::Tensor& got,
             const at::Tensor& want);  // bit for bit
  void True(const std::string& what, bool condition);

  int done() const { return done_; }
  int failed() const { return failed_; }

 private:
  void Record(const std::string& what, bool ok, const std::string& detail);

  int done_ = 0;
  int failed_ = 0;
};

}  // namespace trainctl::gpu
