// The sections of LitGPT's settings that name a class with arguments of its own. Internal to
// convert.cc.
#pragma once

#include "client/litgpt/convert.h"
#include "client/litgpt/draft.h"

namespace trainctl::client {

// litgpt.data.Alpaca, Alpaca2k, AlpacaGPT4 and JSON → "data".
void ConvertLitgptData(const LitgptSource& source, LitgptDraft* draft);

// torch.optim.AdamW, Adam without decay, SGD and bitsandbytes' 8-bit AdamW → "optimizer".
void ConvertLitgptOptimizer(LitgptDraft* draft);

}  // namespace trainctl::client
