// JSON of rank_plan.h and rank_messages.h. Reading never throws: kInvalid names the key.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/rank/rank_messages.h"
#include "common/rank/rank_plan.h"

namespace trainctl::job {

// Of what a rank held when it ran out of memory: also in the store and in the API.
std::string ToJson(const OomDetail& oom);
base::Result<OomDetail> OomDetailFromJson(std::string_view text);

std::string ToJson(const RankPlan& plan);
base::Result<RankPlan> RankPlanFromJson(std::string_view text);

// One line without the newline.
std::string ToLine(const RankMessage& message);
base::Result<RankMessage> RankMessageFromLine(std::string_view line);
std::string ToLine(const RankCommand& command);
base::Result<RankCommand> RankCommandFromLine(std::string_view line);

}  // namespace trainctl::job
