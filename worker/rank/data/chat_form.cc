#include "worker/rank/data/chat_form.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/job/data_format.h"
#include "worker/rank/data/prompt.h"

namespace trainctl::data {
namespace {

using job::ChatTemplate;

constexpr char kQwenSystem[] =
    "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.";
constexpr char kSystemNote[] =
    "the chat template writes a system turn into the last user's; transformers leaves it out where "
    "an answer stands last";
constexpr std::string_view kThink = "<think>", kEndOfThink = "</think>";

ChatForm ImStartForm(ChatTemplate name) {
  const auto turn = [](const std::string& role) {
    return TurnForm{"<|im_start|>" + role + "\n", "<|im_end|>\n"};
  };
  return {.name = name,
          .specials = {"<|im_start|>", "<|im_end|>"},
          .system = turn("system"),
          .user = turn("user"),
          .assistant = turn("assistant")};
}

ChatForm Llama3Form(const BoundaryTexts& texts) {
  const auto turn = [](const std::string& role) {
    return TurnForm{"<|start_header_id|>" + role + "<|end_header_id|>\n\n", "<|eot_id|>", true};
  };
  return {.name = ChatTemplate::kLlama3,
          .specials = {texts.bos, "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"},
          .begin = texts.bos,
          .system = turn("system"),
          .user = turn("user"),
          .assistant = turn("assistant")};
}

ChatForm MistralForm(const BoundaryTexts& texts) {
  return {.name = ChatTemplate::kMistral,
          .specials = {texts.bos, texts.eos},
          .begin = texts.bos,
          .user = {"[INST] ", "[/INST]"},
          .assistant = {" ", texts.eos, true},
          .system_place = SystemPlace::kLastUserTurn,
          .alternates = true,
          .note = kSystemNote};
}

ChatForm ZephyrForm(const BoundaryTexts& texts) {
  const std::string after = texts.eos + "\n";
  return {.name = ChatTemplate::kZephyr,
          .specials = {texts.eos},
          .system = {"<|system|>\n", after},
          .user = {"<|user|>\n", after},
          .assistant = {"<|assistant|>\n", after}};
}

// One turn of user and assistant is the row that the format alpaca makes of them.
ChatForm AlpacaForm(const BoundaryTexts& texts, const std::string& begin) {
  const std::string prompt = AlpacaPrompt("", "");
  ChatForm form = {.name = ChatTemplate::kAlpaca,
                   .specials = {texts.eos},
                   .begin = begin,
                   .user = {"### Instruction:\n", ""},
                   .assistant = {"### Response:\n", texts.eos},
                   .between = "\n\n",
                   .default_system = prompt.substr(0, prompt.find("\n\n"))};
  if (!begin.empty()) form.specials.push_back(begin);
  return form;
}

// What Python's str.strip drops, as Jinja's trim does.
constexpr std::string_view kSpaces[] = {
    " ",      "\t",     "\n",     "\v",     "\f",     "\r",     "\x1c",   "\x1d",
    "\x1e",   "\x1f",   "\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002",
    "\u2003", "\u2004", "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a",
    "\u2028", "\u2029", "\u202f", "\u205f", "\u3000",
};

std::string Trimmed(const std::string& text) {
  std::string_view rest = text;
  const auto drop_one = [&] {
    for (const std::string_view space : kSpaces) {
      if (rest.starts_with(space)) return rest.remove_prefix(space.size()), true;
      if (rest.ends_with(space)) return rest.remove_suffix(space.size()), true;
    }
    return false;
  };
  while (drop_one()) {
  }
  return std::string(rest);
}

void DropFirstNewlines(std::string* text) {
  text->erase(0, std::min(text->find_first_not_of('\n'), text->size()));
}

std::string WithoutNewlines(std::string text) {
  DropFirstNewlines(&text);
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

// Out of the answer's content, where they are not beside it.
std::string TakeThoughts(Message* answer) {
  if (answer->thoughts) return *answer->thoughts;
  std::string& content = answer->content;
  const size_t end = content.find(kEndOfThink);
  if (end == std::string::npos) return "";
  std::string thoughts = content.substr(0, end);
  if (const size_t begin = thoughts.rfind(kThink); begin != std::string::npos)
    thoughts.erase(0, begin + kThink.size());
  content.erase(0, content.rfind(kEndOfThink) + kEndOfThink.size());
  DropFirstNewlines(&content);
  return WithoutNewlines(std::move(thoughts));
}

// Of answers to the last question, the last shows its thoughts always, others where they have any.
void PlaceThoughts(ThoughtPlace place, std::vector<Message>* messages) {
  size_t question = messages->size() - 1;
  for (size_t i = 0; i < messages->size(); ++i) {
    if ((*messages)[i].role == Role::kUser) question = i;
  }
  for (size_t i = 0; i < messages->size(); ++i) {
    Message& message = (*messages)[i];
    if (message.role != Role::kAssistant) continue;
    const std::string thoughts = TakeThoughts(&message);
    const bool is_last = i > question && (i + 1 == messages->size() || !thoughts.empty());
    if (place != ThoughtPlace::kEveryAnswer && !is_last) continue;
    DropFirstNewlines(&message.content);
    message.content = "<think>\n" + WithoutNewlines(thoughts) + "\n</think>\n\n" + message.content;
  }
}

// Text of a form, cut at its special tokens.
void AppendForm(std::string_view text, const ChatForm& form, bool trained,
                std::vector<ChatPart>* parts) {
  while (!text.empty()) {
    size_t at = text.size(), length = 0;
    for (const std::string& special : form.specials) {
      const size_t found = special.empty() ? text.npos : text.find(special);
      if (found < at) at = found, length = special.size();
    }
    if (at > 0) parts->push_back({std::string(text.substr(0, at))});
    if (length > 0) parts->push_back({std::string(text.substr(at, length)), true, trained});
    text.remove_prefix(at + length);
  }
}

void AppendTurn(const ChatForm& form, const Message& message, std::vector<ChatPart>* parts) {
  const bool trained = message.role == Role::kAssistant;
  const TurnForm& turn = message.role == Role::kSystem ? form.system
                         : trained                     ? form.assistant
                                                       : form.user;
  AppendForm(turn.before, form, false, parts);
  std::string content = turn.trims ? Trimmed(message.content) : message.content;
  if (message.role == Role::kSystem) content = form.system_preface + content;
  if (!content.empty()) parts->push_back({std::move(content), false, trained});
  AppendForm(turn.after, form, trained, parts);
}

base::Error At(size_t turn, const std::string& message) {
  return {base::Code::kInvalid, "[" + std::to_string(turn) + "]: " + message};
}

// The system turn into a user's, as Mistral's templates do. They let it go where no user speaks.
base::Status PlaceSystem(const ChatForm& form, std::vector<Message>* messages) {
  if (form.system_place == SystemPlace::kOwnTurn || messages->front().role != Role::kSystem)
    return base::Ok{};
  if (form.system_place == SystemPlace::kNowhere)
    return At(0, "a system turn, which the tokenizer's own template refuses");
  const std::string system = messages->front().content;
  const auto is_user = [](const Message& message) { return message.role == Role::kUser; };
  Message* user = nullptr;
  for (Message& message : *messages) {
    if (!is_user(message)) continue;
    user = &message;
    if (form.system_place == SystemPlace::kFirstUserTurn) break;
  }
  if (user == nullptr) return At(0, "a system turn, and no user's that could hold it");
  user->content = system + "\n\n" + user->content;
  messages->erase(messages->begin());
  return base::Ok{};
}

// Words that would be lost: other templates do not write them.
base::Status CheckThoughts(const ChatForm& form, const std::vector<Message>& messages) {
  const bool thinks = form.thoughts != ThoughtPlace::kNowhere;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].thoughts.value_or("").empty()) continue;
    if (thinks && messages[i].role == Role::kAssistant) continue;
    return At(i, thinks
                     ? "reasoning_content: expected in the assistant's turns only"
                     : "reasoning_content: expected none, since the template " +
                           std::string(job::Name(form.name)) + " of this model writes no thoughts");
  }
  return base::Ok{};
}

base::Status CheckAlternation(const ChatForm& form, const std::vector<Message>& messages,
                              size_t dropped) {
  for (size_t i = 0; form.alternates && i < messages.size(); ++i) {
    const Role expected = i % 2 == 0 ? Role::kUser : Role::kAssistant;
    if (messages[i].role == expected) continue;
    return At(i + dropped, std::string(expected == Role::kUser ? "expected the user's turn"
                                                               : "expected the assistant's turn") +
                               ": they alternate in the template " +
                               std::string(job::Name(form.name)) + ", the user first");
  }
  return base::Ok{};
}

}  // namespace

ChatForm NamedChatForm(ChatTemplate name, const BoundaryTexts& texts,
                       const std::string& alpaca_begin) {
  switch (name) {
    case ChatTemplate::kChatml: return ImStartForm(name);
    case ChatTemplate::kQwen: {
      ChatForm form = ImStartForm(name);
      form.default_system = kQwenSystem;
      return form;
    }
    case ChatTemplate::kLlama3: return Llama3Form(texts);
    case ChatTemplate::kMistral: return MistralForm(texts);
    case ChatTemplate::kZephyr: return ZephyrForm(texts);
    case ChatTemplate::kAlpaca: return AlpacaForm(texts, alpaca_begin);
  }
  CHECK(false) << static_cast<int>(name);
}

base::Result<std::vector<ChatPart>> RenderChat(const ChatForm& form,
                                               std::vector<Message> messages) {
  const size_t turns = messages.size();
  if (messages.empty()) return base::Error{base::Code::kInvalid, "no turns"};
  if (auto written = CheckThoughts(form, messages); !written) return written.error();
  if (form.default_system && messages.front().role != Role::kSystem)
    messages.insert(messages.begin(), {Role::kSystem, *form.default_system});
  if (auto placed = PlaceSystem(form, &messages); !placed) return placed.error();
  const size_t dropped = turns > messages.size() ? turns - messages.size() : 0;
  if (auto alternates = CheckAlternation(form, messages, dropped); !alternates)
    return alternates.error();
  if (form.thoughts != ThoughtPlace::kNowhere) PlaceThoughts(form.thoughts, &messages);
  std::vector<ChatPart> parts;
  AppendForm(form.begin, form, false, &parts);
  for (size_t i = 0; i < messages.size(); ++i) {
    if (i > 0) AppendForm(form.between, form, false, &parts);
    AppendTurn(form, messages[i], &parts);
  }
  return parts;
}

base::Result<std::vector<ChatPart>> RenderQuestion(const ChatForm& form,
                                                   const std::string& question) {
  auto parts = RenderChat(form, {{Role::kUser, question}});
  // A space is no beginning of its own: with the word behind it, it is one token.
  if (!parts || form.assistant.before == " ") return parts;
  AppendForm(form.between, form, false, &*parts);
  AppendForm(form.assistant.before, form, false, &*parts);
  return parts;
}

}  // namespace trainctl::data
