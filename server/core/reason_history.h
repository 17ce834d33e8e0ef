// What kept a waiting job, over time: for those who ask. In memory only; internal to this room.
#pragma once

#include "server/core/turn.h"

namespace trainctl::core {

// Every minute the first jobs that wait for devices are asked why. The last answers of
// each are kept (Job::reasons). One in which only times differ is no other. At the end of each
// Step: before that, jobs that others follow may be gone.
void NoteReasons(Turn& turn);

}  // namespace trainctl::core
