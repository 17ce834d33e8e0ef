// Makes units whole out of the ranks' shards while they are in use. Gathers the next unit during
// the use of this one. PyTorch's FSDP does so too (Zhao et al. 2023; ZeRO-3: Rajbhandari et al.
// 2020). Models do not declare which unit comes next: it is learned. A run uses the same units in
// the same order micro step after micro step. So the successor of the last time is the prediction.
// A wrong one costs a gather, never a wrong result. All ranks use the same units in the same order,
// hence issue the same collectives in the same order.
//
// At most two units are whole at once under Residency::kUse. One that is used again after the next
// use stays whole meanwhile. That is the last block beside the head, and the first one beside the
// embedding of the next micro step. Nothing is gathered ahead or kept across the end of a step,
// since the optimizer changes the weights between. Not thread-safe. Errors: comm::CommError.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "worker/rank/comm/communicator.h"
#include "worker/rank/comm/shared_shards.h"
#include "worker/rank/ops/parameters.h"

namespace trainctl::strategy {

enum class Residency {
  kUse,    // whole from its use's begin to its end
  kStep,   // whole from its first use in the step to the end of its last backward
  kModel,  // all units are gathered together at the first use, and whole until the step's end
};

class UnitGatherer {
 public:
  // shards: by unit (empty: the unit has nothing to gather). Both outlive this.
  UnitGatherer(comm::SharedShards& shards, comm::Communicator& comm, Residency residency);

  void BeginMicroStep(bool last);
  void BeginUnit(ops::UnitId unit, ops::Pass pass) { passes_[unit] = pass; }
  void EndUnit(ops::UnitId unit, ops::Pass pass);
  // The unit's whole buffer, valid until EndUnit.
  const at::Tensor& Whole(ops::UnitId unit);
  // The unit's whole buffer outside of any step, valid until the next call; no other unit stays
  // whole.
  const at::Tensor& WholeAlone(ops::UnitId unit);
  // Lets go of all that is whole: the shards have changed, or are about to.
  void Release();

  int64_t HeldBytes() const;

 private:
  using Use = std::pair<ops::UnitId, ops::Pass>;

  void Start(ops::UnitId unit);
  void Arrive(ops::UnitId unit);
  void Drop(ops::UnitId unit);
  std::optional<Use> Next(Use use) const;
  bool IsUsedAgain(Use use) const;
  void StartNext(Use use);

  comm::SharedShards& shards_;
  comm::Communicator& comm_;
  const Residency residency_;
  bool published_ = false;  // the shards have not changed since
  bool last_micro_step_ = false;
  std::vector<at::Tensor> whole_;  // by unit; undefined: not gathered
  std::vector<std::optional<comm::Communicator::Ticket>> under_way_;  // by unit
  std::vector<ops::Pass> passes_;                                     // by unit: of its use now
  std::vector<bool> asked_;       // by unit: for its weights, in its use now
  std::optional<Use> last_use_;   // of this step whose weights were asked for
  std::optional<Use> first_use_;  // of a micro step
  std::map<Use, Use> next_;       // learned
};

}  // namespace trainctl::strategy
