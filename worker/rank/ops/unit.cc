#include "worker/rank/ops/layers.h"

namespace trainctl::ops {
namespace {

Var Run(Context& context, UnitId unit, Pass pass, const Var& input,
        const std::function<Var(Context&, const Var&)>& body) {
  context.params.BeginUnit(unit, pass);
  Var out = body(context, input);
  context.params.EndUnit(unit, pass);
  return out;
}

// Backward of a body whose forward was not kept: runs it again on a tape of its own, as far as the
// last tensor that it saves, then back.
void RecomputeBackward(Context context, UnitId unit, const Var& input, const Var& output,
                       const std::function<Var(Context&, const Var&)>& body) {
  Tape& outer = context.tape;
  Tape inner(true);
  Context again = context.On(inner);
  again.recomputes = true;
  const bool goes_on = input.slot >= 0;
  const Var inner_input = goes_on ? inner.Output(input.value) : input;
  const Var inner_output = Run(again, unit, Pass::kRecompute, inner_input, body);
  inner.PutGrad(inner_output, outer.TakeGrad(output));
  context.params.BeginUnit(unit, Pass::kBackward);
  if (goes_on) {
    inner.BackwardInto(inner_input,
                       [&](at::Tensor grad) { outer.PutGrad(input, std::move(grad)); });
  } else {
    inner.Backward();
  }
  context.params.EndUnit(unit, Pass::kBackward);
}

}  // namespace

Var InUnit(Context& context, UnitId unit, const Var& input, bool recompute,
           const std::function<Var(Context&, const Var&)>& body) {
  Tape& tape = context.tape;
  if (!tape.recording()) return Run(context, unit, Pass::kForward, input, body);
  Tape silent(false);
  Context forward_only = context.On(silent);
  // Nothing here is trained, nor before: no backward comes this far.
  if (input.slot < 0 && !context.params.Trains(unit))
    return Run(forward_only, unit, Pass::kForward, input, body);
  if (recompute) {
    Var out = tape.Output(Run(forward_only, unit, Pass::kForward, {input.value, -1}, body).value);
    tape.Record(
        [=, slot = Var{{}, out.slot}]() { RecomputeBackward(context, unit, input, slot, body); });
    return out;
  }
  context.params.BeginUnit(unit, Pass::kForward);
  tape.Record([context, unit] { context.params.EndUnit(unit, Pass::kBackward); });
  Var out = body(context, input);
  tape.Record([context, unit] { context.params.BeginUnit(unit, Pass::kBackward); });
  context.params.EndUnit(unit, Pass::kForward);
  return out;
}

}  // namespace trainctl::ops
