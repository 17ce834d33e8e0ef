// Devices that were slower than their gang: a mark for people, which keeps no job away. It goes
// when the device has kept up with a gang, by an operator's undrain, or with the device.
#pragma once

#include "server/core/gang_pace.h"
#include "server/core/turn.h"

namespace trainctl::core {

// What the attempt's steps have shown of one of its ranks.
void TakeVerdict(Turn& turn, const Job& job, const GangPace::Verdict& verdict);
void ForgetSlowness(Turn& turn, const std::string& worker);
// By an operator's word: a rank there that stays slow is marked anew.
void ClearSlowness(Turn& turn, const Worker& worker);

}  // namespace trainctl::core
