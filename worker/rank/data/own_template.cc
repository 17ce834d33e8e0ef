#include "worker/rank/data/own_template.h"

#include <array>
#include <nlohmann/json.hpp>

#include "common/base/file.h"
#include "worker/rank/files/hf_directory.h"
#include "worker/rank/files/json_object.h"
#include "worker/rank/files/json_text.h"

namespace trainctl::data {
namespace {

using job::ChatTemplate;

constexpr size_t kMaxTemplateBytes = 1 << 20;
constexpr size_t kMaxTokenizerConfigBytes = 64 << 20;
constexpr size_t kLongestMark = 16;
constexpr char kDates[] = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";

void ReplaceAll(std::string* text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text->find(from, at)) != std::string::npos; at += to.size())
    text->replace(at, from.size(), to);
}

void DropSpacesAround(char operation, std::string* text) {
  const std::string alone(1, operation);
  for (const char* space : {" ", "\t"}) {
    while (text->find(space + alone) != std::string::npos) ReplaceAll(text, space + alone, alone);
    while (text->find(alone + space) != std::string::npos) ReplaceAll(text, alone + space, alone);
  }
}

// One spelling for what Jinja can say in several: quotes, spaces around operators, members,
// literals that are joined.
std::string Normalized(std::string_view jinja) {
  std::string text(jinja);
  ReplaceAll(&text, "\r\n", "\n");
  ReplaceAll(&text, "\\n", "\n");
  ReplaceAll(&text, "\"", "'");
  DropSpacesAround('+', &text);
  DropSpacesAround('|', &text);
  for (const char* member : {"role", "content"})
    ReplaceAll(&text, std::string("message.") + member, "message['" + std::string(member) + "']");
  ReplaceAll(&text, "'+'", "");
  return text;
}

class TemplateReader {
 public:
  TemplateReader(std::string_view jinja, const BoundaryTexts& texts)
      : text_(Normalized(jinja)), texts_(texts) {}

  std::optional<ChatForm> Read() const {
    if (Has("<|im_start|>")) return ReadImStart();
    if (Has("<|start_header_id|>")) return ReadLlama3();
    if (Has("[INST]")) return ReadMistral();
    if (Has("<|user|>")) return ReadZephyr();
    if (Has("### Instruction:")) return ReadAlpaca();
    return std::nullopt;
  }

 private:
  bool Has(std::string_view part) const { return text_.find(part) != std::string::npos; }

  // The first literal '<|im_start|>system\n…<|im_end|>\n' that has words of its own.
  std::optional<std::string> DefaultSystem() const {
    constexpr std::string_view kBegin = "<|im_start|>system\n";
    for (size_t at = 0; (at = text_.find(kBegin, at)) != std::string::npos;) {
      at += kBegin.size();
      const size_t quote = text_.find('\'', at), end = text_.find("<|im_end|>", at);
      if (end < quote && end > at) return text_.substr(at, end - at);
    }
    return std::nullopt;
  }

  std::optional<ChatForm> ReadImStart() const {
    const bool thinks = Has("last_query_index") && Has("<think>\n'+reasoning_content");
    const bool plain =
        Has("'<|im_start|>'+message['role']+'\n'+message['content']+'<|im_end|>\n'") &&
        !Has("<think>") && !Has("trim") && !Has("strip(");
    if (!(thinks || plain) || Has("<|im_sep|>")) return std::nullopt;
    const bool is_qwen = thinks || Has("Alibaba Cloud");
    ChatForm form = NamedChatForm(is_qwen ? ChatTemplate::kQwen : ChatTemplate::kChatml, texts_);
    form.default_system = DefaultSystem();
    form.thinks = thinks;
    return form;
  }

  std::optional<ChatForm> ReadLlama3() const {
    const bool is_known =
        Has("'<|start_header_id|>'+message['role']+'<|end_header_id|>\n\n'+message['content']|trim"
            "+'<|eot_id|>'") &&
        Has("bos_token");
    if (!is_known || Has("<think>")) return std::nullopt;
    ChatForm form = NamedChatForm(ChatTemplate::kLlama3, texts_);
    if (!Has("Cutting Knowledge Date")) return form;
    if (!Has("Cutting Knowledge Date: December 2023\n") || !Has("'26 Jul 2024'"))
      return std::nullopt;
    form.default_system = "";
    form.system_preface = kDates;
    return form;
  }

  // The literal that holds the mark, "" where it holds much more.
  std::string LiteralWith(std::string_view mark) const {
    const size_t at = text_.find(mark);
    if (at == std::string::npos) return "";
    const size_t begin = text_.rfind('\'', at) + 1, end = text_.find('\'', at);
    if (begin == 0 || end == std::string::npos || end - begin > kLongestMark) return "";
    return text_.substr(begin, end - begin);
  }

  std::optional<ChatForm> ReadMistral() const {
    if (Has("<<SYS>>") || Has("[SYSTEM_PROMPT]")) return std::nullopt;
    ChatForm form = NamedChatForm(ChatTemplate::kMistral, texts_);
    form.user = {LiteralWith("[INST]"), LiteralWith("[/INST]")};
    if (form.user.before.empty() || form.user.after.empty()) return std::nullopt;
    const bool trims = Has("message['content']|trim+eos_token");
    if (!trims && !Has("message['content']+eos_token")) return std::nullopt;
    const std::string before =
        trims ? "' '+message['content']|trim+eos_token" : "' '+message['content']+eos_token";
    form.assistant = {Has(before) ? " " : "", texts_.eos + (Has("eos_token+' '") ? " " : ""),
                      trims};
    form.system_place = Has("loop.first and system_message")  ? SystemPlace::kFirstUserTurn
                        : Has("loop.last and system_message") ? SystemPlace::kLastUserTurn
                                                              : SystemPlace::kNowhere;
    if (form.system_place == SystemPlace::kNowhere && Has("system_message")) return std::nullopt;
    if (!Has("bos_token")) form.begin = "";
    return form;
  }

  std::optional<ChatForm> ReadZephyr() const {
    for (const char* role : {"user", "system", "assistant"}) {
      if (!Has("'<|" + std::string(role) + "|>\n'+message['content']+eos_token")) return {};
    }
    ChatForm form = NamedChatForm(ChatTemplate::kZephyr, texts_);
    if (Has("bos_token")) return std::nullopt;
    if (Has("eos_token }}\n") || Has("eos_token}}\n")) return form;
    for (TurnForm* turn : {&form.system, &form.user, &form.assistant}) turn->after = texts_.eos;
    return form;
  }

  std::optional<ChatForm> ReadAlpaca() const {
    if (!Has("'### Instruction:\n'+message['content']") ||
        !Has("'### Response:\n'+message['content']+eos_token") || !Has("'\n\n'"))
      return std::nullopt;
    ChatForm form =
        NamedChatForm(ChatTemplate::kAlpaca, texts_, Has("bos_token") ? texts_.bos : "");
    if (!Has("Below is an instruction")) form.default_system.reset();
    return form;
  }

  const std::string text_;
  const BoundaryTexts& texts_;
};

// "…", or a list of {"name", "template"}.
std::optional<std::string> TemplateOf(const files::JsonObject& config) {
  const nlohmann::json* value = config.Get("chat_template");
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) return config.Text("chat_template");
  for (const files::JsonObject& one : config.Objects("chat_template")) {
    if (one.Text("name") == "default") return one.Text("template");
  }
  return std::nullopt;
}

}  // namespace

std::optional<ChatForm> RecognizeTemplate(std::string_view jinja, const BoundaryTexts& texts) {
  return TemplateReader(jinja, texts).Read();
}

base::Result<std::optional<std::string>> ReadOwnTemplate(const std::string& model_directory) {
  if (files::HasFile(model_directory, "chat_template.jinja")) {
    auto text = base::ReadRegularFile(model_directory + "/chat_template.jinja", kMaxTemplateBytes);
    if (!text) return text.error();
    return std::optional(std::move(text).value());
  }
  const std::string path = model_directory + "/tokenizer_config.json";
  if (!files::HasFile(model_directory, "tokenizer_config.json"))
    return std::optional<std::string>();
  const auto text = base::ReadRegularFile(path, kMaxTokenizerConfigBytes);
  if (!text) return text.error();
  const auto document = files::ParseJsonText(*text, path);
  if (!document) return document.error();
  files::Fault fault;
  auto own = TemplateOf(files::JsonObject(*document, path + ": ", &fault));
  if (fault) return *fault;
  return own;
}

}  // namespace trainctl::data
