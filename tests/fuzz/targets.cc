#include "tests/fuzz/targets.h"

#include <algorithm>
#include <array>

namespace trainctl::fuzz {
namespace {

constexpr auto kTargets = std::to_array<Target>({
    {"certificate", ReadCertificate},
    {"chat_template", ReadChatTemplate},
    {"estimate", ReadEstimate},
    {"exit_record", ReadExitRecord},
    {"greetings", ReadGreetings},
    {"job", ReadJob},
    {"leases", ReadLeases},
    {"litgpt", ReadLitgpt},
    {"manifest", ReadManifest},
    {"model_config", ReadModelConfig},
    {"model_folder", ReadModelFolder},
    {"picture", ReadPicture},
    {"policy", ReadPolicy},
    {"rank_folder", ReadRankFolder},
    {"rank_messages", ReadRankMessages},
    {"rows", ReadRows},
    {"rpc", ReadRpc},
    {"safetensors", ReadSafetensors},
    {"sentencepiece", ReadSentencePiece},
    {"tables", ReadTables},
    {"tokenizer_json", ReadTokenizerJson},
    {"tokens", ReadTokens},
    {"torch_file", ReadTorchFile},
    {"vocab_merges", ReadVocabMerges},
    {"words", ReadWords},
});

}  // namespace

std::span<const Target> Targets() { return kTargets; }

const Target* FindTarget(std::string_view name) {
  const auto* const found = std::ranges::find(kTargets, name, &Target::name);
  return found == kTargets.end() ? nullptr : found;
}

}  // namespace trainctl::fuzz
