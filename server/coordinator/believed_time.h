// How much of a client's prediction of time is believed. Pure.
#pragma once

#include "server/core/events.h"

namespace trainctl::coordinator {

// A job may go before others because it is over before they could start. So a prediction that is
// too low is to their cost. The queue goes by no less than what the coordinator itself predicts
// from the same model, data and device: believed_seconds. What was predicted stays as it was told.
// Of what it takes from earlier runs, which may well be faster, a quarter is enough. What rests on
// the client's word alone is marked as claimed, and nobody waits longer for it: where no worker
// answered its inspection, or no rates of the device are known.
void RaiseToBelieved(core::Submission* submission, bool is_inspection_known);

}  // namespace trainctl::coordinator
