// From which checkpoint an attempt goes on.
#pragma once

#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/rank/rank_plan.h"
#include "worker/rank/comm/communicator.h"

namespace trainctl::train {

// On rank 0. A later attempt of a job that writes checkpoints takes the newest whole one that this
// job wrote. Its folder also has those of the job that it went on from. Else
// checkpoint.resume_from, with resume_job only while the folder is still that job's; else none.
// Errors: kNotFound, kInvalid: there is no whole checkpoint where resume_from says, or another job
// went on there.
base::Result<std::optional<std::string>> ChooseCheckpoint(const job::RankPlan& plan);

// Rank 0's choice, at every rank.
std::optional<std::string> ShareChoice(const std::optional<std::string>& choice,
                                       comm::Communicator& comm, at::Device device);

// Whether it went well at every rank. Collective.
bool AtEveryRank(bool ok, comm::Communicator& comm, at::Device device);

// Every rank sees, under `directory`, a file that rank 0 made there now. Collective. Errors: kIo
// (rank 0 cannot write there), kInvalid: this host does not see the file.
base::Status CheckSharedFolder(const std::string& directory, const job::RankPlan& plan,
                               comm::Communicator& comm, at::Device device);

}  // namespace trainctl::train
