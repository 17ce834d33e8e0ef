// JSON of rank_plan.h and rank_messages.h. Reading never throws: kInvalid names the key.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/rank/rank_messages.h"
#include "common/rank/rank_plan.h"

namespace trainctl::job {

std::string ToJson(const RankPlan& plan);
base::Result<RankPlan> RankPlanFromJson(std::string_view text);

// One line without the newline.
std::string ToLine(const RankMessage& message);
base::Result<RankMessage> RankMessageFromLine(std::string_view line);
std::string ToLine(const RankCommand& command);
base::Result<RankCommand> RankCommandFromLine(std::string_view line);

}  // namespace trainctl::job
