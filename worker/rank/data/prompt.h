// Prompt templates, byte for byte as the labs' tools write them.
#pragma once

#include <string>
#include <string_view>

namespace trainctl::data {

// Stanford Alpaca's (Taori et al. 2023): one form with an input, one without.
std::string AlpacaPrompt(std::string_view instruction, std::string_view input);

}  // namespace trainctl::data
