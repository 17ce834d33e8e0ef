// The worker's stream, between messages and the core's words. Reading never throws; kInvalid names
// the field.
#pragma once

#include <string>

#include "common/base/result.h"
#include "server/coordinator/coordinator.h"
#include "server/coordinator/worker_channel.h"
#include "server/core/events.h"

namespace trainctl::v1 {
class CoordinatorMessage;
class Hello;
class InspectResult;
class LogReport;
class RankReport;
}  // namespace trainctl::v1

namespace trainctl::rpc {

inline constexpr int kMaxHeldRanks = 10'000;

base::Result<core::WorkerHello> DecodeHello(const v1::Hello& hello);

base::Result<core::RankReported> DecodeReport(const std::string& worker,
                                              const v1::RankReport& report);

// Its data are the report's.
base::Result<coordinator::LogPiece> DecodeLog(const v1::LogReport& report);

// kInvalid: the job's model or data is at fault. kUnavailable: the worker could not look, or its
// answer can't be read.
base::Result<job::Inspection> DecodeInspection(const v1::InspectResult& result);

v1::CoordinatorMessage EncodeCommand(const coordinator::WorkerCommand& command);

}  // namespace trainctl::rpc
