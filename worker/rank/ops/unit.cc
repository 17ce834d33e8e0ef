#include <algorithm>

#include "worker/rank/ops/layers.h"

namespace trainctl::ops {
namespace {

using Body = std::function<Var(Context&, const Vars&)>;

Var Run(Context& context, UnitId unit, Pass pass, const Vars& inputs, const Body& body) {
  context.params.BeginUnit(unit, pass);
  Var out = body(context, inputs);
  context.params.EndUnit(unit, pass);
  return out;
}

// Backward of a body whose forward was not kept: runs it again on a tape of its own, as far as the
// last tensor that it saves, then back.
void RecomputeBackward(Context context, UnitId unit, const Vars& inputs, const Var& output,
                       const Body& body) {
  Tape& outer = context.tape;
  Tape inner(true);
  Context again = context.On(inner);
  again.recomputes = true;
  Vars inner_inputs = inputs;
  for (Var& input : inner_inputs) {
    if (input.slot >= 0) input = inner.Output(input.value);
  }
  const Var inner_output = Run(again, unit, Pass::kRecompute, inner_inputs, body);
  inner.PutGrad(inner_output, outer.TakeGrad(output));
  context.params.BeginUnit(unit, Pass::kBackward);
  const std::vector<at::Tensor> grads = inner.BackwardInto(inner_inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (grads[i].defined()) outer.PutGrad(inputs[i], grads[i]);
  }
  context.params.EndUnit(unit, Pass::kBackward);
}

Vars WithoutSlots(const Vars& inputs) {
  Vars values;
  for (const Var& input : inputs) values.push_back({input.value, -1});
  return values;
}

}  // namespace

Var InUnit(Context& context, UnitId unit, const Vars& inputs, bool recompute, const Body& body) {
  Tape& tape = context.tape;
  if (!tape.recording()) return Run(context, unit, Pass::kForward, inputs, body);
  Tape silent(false);
  Context forward_only = context.On(silent);
  const bool goes_on =
      std::any_of(inputs.begin(), inputs.end(), [](const Var& input) { return input.slot >= 0; });
  // Nothing here is trained, nor before: no backward comes this far.
  if (!goes_on && !context.params.Trains(unit))
    return Run(forward_only, unit, Pass::kForward, inputs, body);
  if (recompute) {
    Var out =
        tape.Output(Run(forward_only, unit, Pass::kForward, WithoutSlots(inputs), body).value);
    tape.Record(
        [=, slot = Var{{}, out.slot}]() { RecomputeBackward(context, unit, inputs, slot, body); });
    return out;
  }
  context.params.BeginUnit(unit, Pass::kForward);
  tape.Record([context, unit] { context.params.EndUnit(unit, Pass::kBackward); });
  Var out = body(context, inputs);
  tape.Record([context, unit] { context.params.BeginUnit(unit, Pass::kBackward); });
  context.params.EndUnit(unit, Pass::kForward);
  return out;
}

Var InUnit(Context& context, UnitId unit, const Var& input, bool recompute,
           const std::function<Var(Context&, const Var&)>& body) {
  return InUnit(context, unit, Vars{input}, recompute,
                [body](Context& inner, const Vars& inputs) { return body(inner, inputs[0]); });
}

}  // namespace trainctl::ops
