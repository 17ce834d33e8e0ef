// Text → token ids, as Hugging Face tokenizers (tokenizer.json; vocab.json + merges.txt) and
// SentencePiece (tokenizer.model) make them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "worker/rank/tokenizer/added_tokens.h"

namespace trainctl::data {

// The longest text that Encode takes. What becomes of it (normalized, up to 11 times as long) is
// addressed by 31 bits. Each of its own bytes needs some tens of bytes of memory.
constexpr size_t kMaxTextBytes = size_t{128} << 20;

// Told on the calling thread how many of a text's bytes are encoded, about; never fewer than
// before.
using EncodeProgress = std::function<void(size_t done_bytes)>;

// Thread-safe: Encode and Decode may be called from several threads at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // The ids of a text of at most kMaxTextBytes, appended to ids. No beginning- or end-of-sequence
  // token is added. Added and special tokens that stand in the text are recognized as the original
  // does by default: transformers its added tokens, SentencePiece alone its user-defined symbols.
  // Bytes that are not UTF-8 count as U+FFFD, one for each maximal broken sequence, as Python's
  // decode(errors="replace") gives them.
  // progress may be empty.
  virtual void Encode(std::string_view text, std::vector<int32_t>* ids,
                      const EncodeProgress& progress) const = 0;
  void Encode(std::string_view text, std::vector<int32_t>* ids) const { Encode(text, ids, {}); }
  std::vector<int32_t> Encode(std::string_view text) const {
    std::vector<int32_t> ids;
    Encode(text, &ids);
    return ids;
  }

  // The text of ids, special tokens included (SentencePiece alone has none for control pieces). Ids
  // out of range are skipped. The result is UTF-8: bytes that do not form it are U+FFFD.
  virtual std::string Decode(std::span<const int32_t> ids) const = 0;

  // Whether the id is a special token, which a text for people leaves out.
  virtual bool IsSpecial(int32_t) const { return false; }

  // One more than the largest id that Encode can give.
  virtual int64_t vocab_size() const = 0;

  // The id of a token by its whole text, special tokens included; −1: none has it.
  virtual int32_t IdOf(std::string_view token) const = 0;

  // The ids that its own post-processor puts before a text; nullopt: it has none that adds tokens.
  virtual const std::optional<std::vector<int32_t>>& prefix() const {
    static const std::optional<std::vector<int32_t>> none;
    return none;
  }
};

// From tokenizer.json, else tokenizer.model, else vocab.json with merges.txt, and the added tokens
// of the files beside them (added_token_files.h).
// Errors: kNotFound (none of them there), kIo, kInvalid (broken, or a component that is not
// supported: the message has the file, the JSON path and the component's name).
base::Result<std::unique_ptr<Tokenizer>> LoadTokenizer(const std::string& directory);

// The three readers behind it, of texts in memory; source stands in messages.
base::Result<std::unique_ptr<Tokenizer>> ParseTokenizerJson(std::string_view json,
                                                            const std::string& source,
                                                            const TokensBeside& beside = {});

// What is told of tokenizer.model beside it (sentencepiece_files.h).
struct SentencePieceOptions {
  TokensBeside beside;
  bool has_own_tokens = false;    // control and user-defined pieces are added tokens
  bool adds_prefix = true;        // if the model does: a space before the text
  bool adds_each_prefix = false;  // before each text between added tokens, too
};
base::Result<std::unique_ptr<Tokenizer>> ParseSentencePieceModel(
    std::string_view model, const std::string& source, const SentencePieceOptions& options = {});

// What is told of vocab.json and merges.txt beside them (gpt2_files.h).
struct Gpt2Options {
  bool is_qwen2 = false;  // cut as Qwen2Tokenizer does: NFC, and each digit is a word
  bool add_prefix_space = false;
  TokensBeside beside;
};
base::Result<std::unique_ptr<Tokenizer>> ParseVocabAndMerges(std::string_view vocab,
                                                             std::string_view merges,
                                                             const std::string& source,
                                                             const Gpt2Options& options = {});

}  // namespace trainctl::data
