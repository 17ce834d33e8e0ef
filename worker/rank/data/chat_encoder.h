// Conversations → token ids and the mask of what is trained, as transformers' apply_chat_template
// makes both.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/job/job.h"
#include "worker/rank/data/boundary_tokens.h"
#include "worker/rank/data/chat_form.h"
#include "worker/rank/data/masked_tokens.h"
#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::data {

// The turns of one conversation, together.
constexpr size_t kMaxChatBytes = kMaxTextBytes / 2;

// The tokenizer outlives it. Thread-safe.
class ChatEncoder {
 public:
  // The template that the job names, else the tokenizer's own. A named one that is the tokenizer's
  // own too has its details (own_template.h).
  // Errors: kInvalid (the job must name one; the tokenizer lacks one of its special tokens; a
  // broken tokenizer_config.json), kIo.
  static base::Result<ChatEncoder> Create(const job::DataSpec& data, const Tokenizer& tokenizer,
                                          const BoundaryTokens& boundary,
                                          const std::string& model_directory);

  // Ignored is all that the assistant did not say.
  // The text is encoded as a whole between special tokens, so that a word may join what stands
  // before it. A token that holds the first character of an answer is trained.
  // Special tokens that a turn's content spells out count as such, as they do in transformers.
  // kInvalid: the template does not take these turns; "[3]" names the turn.
  base::Result<MaskedTokens> Encode(const std::vector<Message>& messages) const;

  // The user's turn, and what the answer to it begins with. kInvalid: as of Encode.
  base::Result<std::vector<int32_t>> EncodeQuestion(const std::string& question) const;

  // The token that ends an answer; −1: none does.
  int32_t end_of_answer() const;

  const ChatForm& form() const { return form_; }

 private:
  ChatEncoder(ChatForm form, const Tokenizer& tokenizer)
      : form_(std::move(form)), tokenizer_(&tokenizer) {}

  base::Status FindSpecials(const std::string& model_directory, const BoundaryTokens& boundary);
  MaskedTokens EncodeParts(std::span<const ChatPart> parts) const;
  void AppendChunk(std::span<const ChatPart> parts, MaskedTokens* tokens) const;

  struct Special {
    int32_t id = -1;
    bool is_found_in_text = false;  // the tokenizer itself takes it out of a text
  };

  ChatForm form_;
  const Tokenizer* tokenizer_;
  std::map<std::string, Special> specials_;
};

}  // namespace trainctl::data
