// How a conversation becomes text: the built-in chat templates as data. What the Jinja templates of
// the public models write, without Jinja.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/job/job.h"
#include "worker/rank/data/boundary_tokens.h"
#include "worker/rank/data/conversation.h"

namespace trainctl::data {

// What stands around a turn's content. Both may spell special tokens.
struct TurnForm {
  std::string before, after;
  bool trims = false;  // white space around the content is dropped
};

// Where a system turn goes. Mistral has no form of its own for it.
enum class SystemPlace { kOwnTurn, kFirstUserTurn, kLastUserTurn, kNowhere };

// Which answers have a place for their thoughts. Qwen 3's template has one for answers to the last
// question alone: the thoughts of earlier ones go.
enum class ThoughtPlace { kNowhere, kLastAnswers, kEveryAnswer };

struct ChatForm {
  job::ChatTemplate name = job::ChatTemplate::kChatml;
  std::vector<std::string> specials;  // tokens that the forms below spell; none is ever text
  std::string begin;                  // mostly the bos token, or nothing
  TurnForm system, user, assistant;
  std::string between;                        // turns
  std::string system_preface;                 // before the system's content
  std::optional<std::string> default_system;  // of conversations without a system turn
  SystemPlace system_place = SystemPlace::kOwnTurn;
  ThoughtPlace thoughts = ThoughtPlace::kNowhere;
  bool alternates = false;  // user and assistant take turns, the user first
  std::string note;         // for people: what they may not expect of it; mostly empty
};

// The template of that name as its first model has it: Qwen 2.5's, Llama 3's, Mistral 7B's v0.3.
// alpaca begins with `alpaca_begin`, what other rows of this tokenizer begin with.
ChatForm NamedChatForm(job::ChatTemplate name, const BoundaryTexts& texts,
                       const std::string& alpaca_begin = "");

// A piece of a rendered conversation.
struct ChatPart {
  std::string text;
  bool special = false;  // one token, by its whole text
  bool trained = false;  // the assistant's words, and the token that ends them
};

// Errors: kInvalid names the turn, as "[3]", and what the template wants.
base::Result<std::vector<ChatPart>> RenderChat(const ChatForm& form, std::vector<Message> messages);

// A user's turn, and what an answer to it begins with: what add_generation_prompt makes of it.
// Errors: those of RenderChat.
base::Result<std::vector<ChatPart>> RenderQuestion(const ChatForm& form,
                                                   const std::string& question);

}  // namespace trainctl::data
