// Names of a decoder's modules: those in Hugging Face's files, of LLaMA and OPT, and those of
// lora.targets.
#pragma once

#include <string_view>
#include <utility>

namespace trainctl::job {

inline constexpr std::pair<std::string_view, std::string_view> kModuleNames[] = {
    {"q_proj", "q"},   {"k_proj", "k"},       {"v_proj", "v"},     {"o_proj", "o"},
    {"out_proj", "o"}, {"gate_proj", "gate"}, {"up_proj", "up"},   {"fc1", "up"},
    {"fc2", "down"},   {"down_proj", "down"}, {"lm_head", "head"},
};

}  // namespace trainctl::job
