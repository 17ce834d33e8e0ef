// The engine's own reverse-mode tape. Forward ops record how to go back. Backward runs the records
// in reverse order on the calling thread. It destroys each as soon as it has run, which frees what
// it saved.
//
// torch's autograd is the oracle of the tests only. As the engine it would need fake roots for
// token ids and a thread of its own. It would hold saved tensors too long.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace trainctl::ops {

// A value of the forward pass. slot < 0: its gradient is not wanted.
struct Var {
  at::Tensor value;
  int slot = -1;
};

// One micro step's record. Not thread-safe.
class Tape {
 public:
  // recording = false makes every op forward-only (evaluation): nothing is saved.
  explicit Tape(bool recording) : recording_(recording) {}

  bool recording() const { return recording_; }

  // A value whose gradient will be collected in a slot of its own.
  Var Output(at::Tensor value);

  // Ops are recorded in the order of their forward.
  void Record(std::function<void()> backward);

  // The gradient collected so far, which the caller takes over (undefined: none).
  at::Tensor TakeGrad(const Var& var);
  // Adds to the gradient of var; a tensor that is put first may be kept by reference, and is never
  // written to.
  void PutGrad(const Var& var, at::Tensor grad);

  // Runs and destroys every record, last first.
  void Backward();
  // The same, then hands over the gradient of input.
  void BackwardInto(const Var& input, const std::function<void(at::Tensor)>& take);
  // That of each input (undefined: none).
  std::vector<at::Tensor> BackwardInto(const std::vector<Var>& inputs);

 private:
  void RunRecords();

  bool recording_;
  std::vector<at::Tensor> grads_;
  std::vector<std::function<void()>> records_;
};

}  // namespace trainctl::ops
