#include "tests/data/small_tokenizers.h"

#include <nlohmann/json.hpp>

#include "worker/rank/tokenizer/utf8.h"

namespace trainctl::data {
namespace {

// The character that stands for a byte in GPT-2's alphabet, from its definition (not from the code
// under test).
std::string ByteLevelChar(int byte) {
  const auto printable = [](int b) {
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || (b >= 174 && b <= 255);
  };
  int code = byte;
  if (!printable(byte)) {
    code = 256;
    for (int before = 0; before < byte; ++before) code += !printable(before);
  }
  std::string text;
  AppendUtf8(static_cast<char32_t>(code), &text);
  return text;
}

}  // namespace

std::string ByteTokenizerJson() {
  nlohmann::json vocab;
  for (int byte = 0; byte < 256; ++byte) vocab[ByteLevelChar(byte)] = byte;
  const std::string byte_level =
      R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": true})";
  return TokenizerJson(
      vocab.dump(), "[]",
      R"("added_tokens": [{"id": 256, "content": "<|end|>", "special": true}], "pre_tokenizer": )" +
          byte_level + R"(, "decoder": )" + byte_level);
}

job::ModelShape WriteByteModel(const ScratchDirectory& directory) {
  directory.Write("tokenizer.json", ByteTokenizerJson());
  directory.Write(
      "config.json",
      R"({"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 1, "hidden_size": 8,
      "intermediate_size": 8, "num_attention_heads": 2, "vocab_size": 300, "bos_token_id": 254, "eos_token_id": 255})");
  directory.Write("tokenizer_config.json", R"({"add_bos_token": true})");
  job::ModelShape shape;
  shape.vocab = 300;
  shape.bos_token = 254;
  shape.eos_token = 255;
  return shape;
}

std::string TextOf(const Dataset& dataset, size_t row) {
  std::string text;
  for (int64_t i = 1; i + 1 < dataset.rows.at(row).length; ++i)
    text += static_cast<char>(dataset.tokens[dataset.rows[row].begin + i]);
  return text;
}

std::string TokenizerJson(const std::string& vocab, const std::string& merges,
                          const std::string& more, const std::string& options) {
  const std::string before = more + (more.empty() ? "" : ", ");
  const std::string settings = options + (options.empty() ? "" : ", ");
  return "{" + before + R"("model": {"type": "BPE", )" + settings + R"("vocab": )" + vocab +
         R"(, "merges": )" + merges + "}}";
}

}  // namespace trainctl::data
