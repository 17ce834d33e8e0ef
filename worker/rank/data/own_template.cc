#include "worker/rank/data/own_template.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/base/file.h"
#include "worker/rank/data/jinja_outline.h"
#include "worker/rank/files/hf_directory.h"
#include "worker/rank/files/json_file.h"

namespace trainctl::data {
namespace {

using job::ChatTemplate;

constexpr size_t kMaxTemplateBytes = 1 << 20;
constexpr size_t kLongestMark = 16;
constexpr char kDates[] = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";
constexpr char kSystemHeader[] = "'<|start_header_id|>system<|end_header_id|>\n\n";
constexpr char kDateNote[] = "the chat template writes 'Today Date: 26 Jul 2024' in each row";
constexpr char kTodayNote[] = "; transformers would write today's date";

// What ChatML's templates write of turns, in runs; a default system turn is a literal of its own.
const std::vector<std::string> kImStartRuns = {
    "'<|im_start|>system\n'+messages[0]['content']+'<|im_end|>\n'",
    "'<|im_start|>'+message['role']+'\n'+message['content']+'<|im_end|>\n'",
    "'<|im_start|>'+message['role']+'\n'+content+'<|im_end|>\n'",
    "'<|im_start|>assistant\n'+message['content']+'<|im_end|>\n'",
    "bos_token",
};
constexpr char kUsersTurns[] =
    "(message['role']=='user') or (message['role']=='system' and not loop.first)";
constexpr char kAnswers[] = "message['role']=='assistant'";
constexpr char kContentIsText[] = "message['content'] is string";
const std::vector<std::string> kImStartConditions = {
    "loop.first and messages[0]['role']!='system'",
    "messages[0]['role']!='system'",
    "messages[0]['role']=='system'",
    "(message['role']=='user') or (message['role']=='system' and not loop.first) or "
    "(message['role']=='assistant' and not message.tool_calls)",
    kUsersTurns,
    kAnswers,
    kContentIsText,
};
const std::vector<std::string> kSetContent = {"content=message['content']", "content=''"};
// Qwen 3's say more of an answer.
const std::string kThoughtfulAnswer =
    "'<|im_start|>'+message['role']+'\n<think>\n'+reasoning_content.strip('\n')"
    "+'\n</think>\n\n'+content.lstrip('\n')";
const std::vector<std::string> kThinkingRuns = {
    kImStartRuns[0],
    kImStartRuns[1],
    kImStartRuns[2],
    kThoughtfulAnswer,
    kThoughtfulAnswer + "+'<|im_end|>\n'",
    "'<|im_start|>'+message['role']+'\n'+content",
    "'<|im_end|>\n'",
    "bos_token",
};
const std::vector<std::string> kThinkingSets = {"ns", "index", "content", "reasoning_content"};
constexpr char kIsLastAnswer[] = "loop.index0>ns.last_query_index";

bool IsAmong(const std::vector<std::string>& known, std::string_view one) {
  return std::ranges::find(known, one) != known.end();
}

// What literals name beside marks as <|…|> and […]: members, roles, and what tools' calls have.
const std::vector<std::string> kNames = {"role",      "content", "system",  "user", "assistant",
                                         "name",      "id",      "call",    "type", "function",
                                         "arguments", "tool",    "results", "calls"};

// Words of an expression's literals that are none of these.
std::vector<std::string> OwnWords(std::string_view expression) {
  std::vector<std::string> words;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty() && !IsAmong(kNames, word)) words.push_back(word);
    word.clear();
  };
  bool is_literal = false;
  for (size_t at = 0; at < expression.size(); ++at) {
    const std::string_view rest = expression.substr(at);
    const size_t mark = rest.starts_with("<|")  ? rest.find("|>")
                        : rest.starts_with('[') ? rest.find(']')
                                                : std::string_view::npos;
    const auto byte = static_cast<unsigned char>(rest.front());
    if (is_literal && (std::isalpha(byte) != 0 || byte >= 0x80)) {
      word += rest.front();
      continue;
    }
    end_word();
    if (byte == '\'') is_literal = !is_literal;
    if (is_literal && mark < rest.find('\'', 1)) at += mark;
  }
  end_word();
  return words;
}

class TemplateReader {
 public:
  TemplateReader(std::string_view jinja, const BoundaryTexts& texts)
      : outline_(OutlineOf(jinja)), texts_(texts) {}

  std::optional<ChatForm> Read() const {
    if (outline_.has_others || !BeginsAndEndsAsKnown() || !TakesSystemFromTurns())
      return std::nullopt;
    if (Has("<|im_start|>")) return ReadImStart();
    if (Has("<|start_header_id|>")) return ReadLlama3();
    if (Has("[INST]")) return ReadMistral();
    if (Has("<|user|>")) return ReadZephyr();
    if (Has("### Instruction:")) return ReadAlpaca();
    return std::nullopt;
  }

 private:
  bool Has(std::string_view part) const { return outline_.text.find(part) != std::string::npos; }

  // bos at most once, before all else; eos nowhere alone.
  bool BeginsAndEndsAsKnown() const {
    const size_t bos = outline_.text.find("bos_token");
    return !IsAmong(outline_.writes, "eos_token") &&
           (bos == std::string::npos ||
            outline_.text.find("bos_token", bos + 1) == std::string::npos);
  }
  bool BeginsWithBos() const {
    return Has("bos_token") && !outline_.writes.empty() && outline_.writes[0] == "bos_token";
  }
  // Whatever the turns are.
  bool AlwaysBeginsWithBos() const { return outline_.text.starts_with("{{bos_token}}"); }

  // A default that the template sets itself would be lost.
  bool TakesSystemFromTurns() const {
    constexpr std::string_view kName = "system_message=";
    return std::ranges::all_of(outline_.sets, [&](std::string_view set) {
      if (!set.starts_with(kName)) return true;
      set.remove_prefix(kName.size());
      return set == "''" || set == "messages[0]['content']" || set == "messages[0]['content']|trim";
    });
  }

  // The literal '<|im_start|>system\n…<|im_end|>\n' that has words of its own.
  static std::optional<std::string> DefaultSystem(std::string_view write) {
    constexpr std::string_view kBegin = "'<|im_start|>system\n", kEnd = "<|im_end|>\n'";
    if (write.size() < kBegin.size() + kEnd.size() || !write.starts_with(kBegin) ||
        !write.ends_with(kEnd))
      return std::nullopt;
    write.remove_prefix(kBegin.size());
    write.remove_suffix(kEnd.size());
    if (write.find("'+") != std::string_view::npos) return std::nullopt;
    return std::string(write);
  }

  // Nothing is written or set but what is known.
  bool SaysOnly(const std::vector<std::string>& runs, const std::vector<std::string>& names) const {
    const auto is_known = [&](const std::string& run) {
      return IsAmong(runs, run) || DefaultSystem(run);
    };
    const auto is_named = [&](const std::string& set) {
      return IsAmong(names, set.substr(0, set.find_first_of(".=")));
    };
    return !outline_.has_words && std::ranges::all_of(outline_.runs, is_known) &&
           std::ranges::all_of(outline_.sets, is_named);
  }

  // Nothing that is written or set has words but such.
  bool HasWordsBut(const std::vector<std::string>& known) const {
    for (const auto* expressions : {&outline_.writes, &outline_.sets}) {
      for (const std::string& expression : *expressions) {
        const std::vector<std::string> words = OwnWords(expression);
        if (!std::ranges::all_of(words, [&](const auto& word) { return IsAmong(known, word); }))
          return true;
      }
    }
    return false;
  }

  // A system turn that is written before the others is left out there, and no other.
  bool SaysSystemOnce() const {
    return IsAmong(outline_.runs, kImStartRuns[0]) == Has("not loop.first");
  }

  // Every turn's content is written as it is.
  bool TakesContentFromTurns() const {
    if (!IsAmong(outline_.runs, kImStartRuns[2])) return outline_.sets.empty();
    return outline_.sets == kSetContent && IsAmong(outline_.conditions, kContentIsText);
  }

  bool IsPlainImStart() const {
    const auto is_known = [](const std::string& one) { return IsAmong(kImStartConditions, one); };
    const std::vector<std::string> loops = {"message in messages"};
    const bool says_all =
        !IsAmong(outline_.conditions, kUsersTurns) || IsAmong(outline_.conditions, kAnswers);
    return (IsAmong(outline_.runs, kImStartRuns[1]) || IsAmong(outline_.runs, kImStartRuns[2])) &&
           SaysOnly(kImStartRuns, {"content"}) && TakesContentFromTurns() && says_all &&
           std::ranges::all_of(outline_.conditions, is_known) && outline_.loops == loops &&
           SaysSystemOnce() && !Has("<think>");
  }

  ThoughtPlace Thoughts() const {
    if (!Has("<think>\n'+reasoning_content") || !SaysOnly(kThinkingRuns, kThinkingSets) ||
        !SaysSystemOnce())
      return ThoughtPlace::kNowhere;
    const bool asks = std::ranges::any_of(outline_.conditions, [](const std::string& condition) {
      return condition.starts_with(kIsLastAnswer);
    });
    if (asks) return ThoughtPlace::kLastAnswers;
    return IsAmong(outline_.runs, kThoughtfulAnswer + "+'<|im_end|>\n'")
               ? ThoughtPlace::kEveryAnswer
               : ThoughtPlace::kNowhere;
  }

  std::optional<ChatForm> ReadImStart() const {
    const ThoughtPlace thoughts = Thoughts();
    const bool thinks = thoughts != ThoughtPlace::kNowhere;
    if (!(thinks || IsPlainImStart()) || Has("<|im_sep|>")) return std::nullopt;
    if (Has("bos_token") && !AlwaysBeginsWithBos()) return std::nullopt;
    const bool is_qwen = thinks || Has("Alibaba Cloud");
    ChatForm form = NamedChatForm(is_qwen ? ChatTemplate::kQwen : ChatTemplate::kChatml, texts_);
    form.default_system.reset();
    for (const std::string& run : outline_.runs) {
      if (!form.default_system) form.default_system = DefaultSystem(run);
    }
    form.thoughts = thoughts;
    if (AlwaysBeginsWithBos() && !texts_.bos.empty()) {
      form.begin = texts_.bos;
      form.specials.push_back(texts_.bos);
    }
    return form;
  }

  std::optional<ChatForm> ReadLlama3() const {
    const bool is_known =
        Has("'<|start_header_id|>'+message['role']+'<|end_header_id|>\n\n'+message['content']|trim"
            "+'<|eot_id|>'") &&
        Has("bos_token");
    if (!is_known || Has("<think>") || Has("eos_token")) return std::nullopt;
    ChatForm form = NamedChatForm(ChatTemplate::kLlama3, texts_);
    if (!Has("Cutting Knowledge Date")) return HasWordsBut({}) ? std::nullopt : std::optional(form);
    const bool is_dated = Has("Cutting Knowledge Date: December 2023\n") && Has("'26 Jul 2024'");
    const size_t begun = outline_.text.find(kSystemHeader);
    const bool says_more = begun != std::string::npos &&
                           outline_.text[begun + std::string_view(kSystemHeader).size()] != '\'';
    if (!is_dated || says_more) return std::nullopt;
    form.default_system = "";
    form.system_preface = kDates;
    form.note = std::string(kDateNote) + (Has("strftime_now") ? kTodayNote : "");
    return form;
  }

  // The literal that holds the mark, "" where it holds much more.
  std::string LiteralWith(std::string_view mark) const {
    const size_t at = outline_.text.find(mark);
    if (at == std::string::npos) return "";
    const size_t begin = outline_.text.rfind('\'', at) + 1, end = outline_.text.find('\'', at);
    if (begin == 0 || end == std::string::npos || end - begin > kLongestMark) return "";
    return outline_.text.substr(begin, end - begin);
  }

  std::optional<ChatForm> ReadMistral() const {
    if (Has("<<SYS>>") || Has("[SYSTEM_PROMPT]") || HasWordsBut({})) return std::nullopt;
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
    if (form.system_place != SystemPlace::kLastUserTurn) form.note.clear();
    if (!Has("bos_token")) form.begin = "";
    if (Has("bos_token") && !BeginsWithBos()) return std::nullopt;
    return form;
  }

  std::optional<ChatForm> ReadZephyr() const {
    for (const char* role : {"user", "system", "assistant"}) {
      if (!Has("'<|" + std::string(role) + "|>\n'+message['content']+eos_token")) return {};
    }
    ChatForm form = NamedChatForm(ChatTemplate::kZephyr, texts_);
    if (Has("bos_token") || HasWordsBut({})) return std::nullopt;
    if (Has("eos_token}}\n")) return form;
    for (TurnForm* turn : {&form.system, &form.user, &form.assistant}) turn->after = texts_.eos;
    return form;
  }

  std::optional<ChatForm> ReadAlpaca() const {
    if (!Has("'### Instruction:\n'+message['content']") ||
        !Has("'### Response:\n'+message['content']+eos_token") || !Has("'\n\n'"))
      return std::nullopt;
    if (Has("bos_token") && !BeginsWithBos()) return std::nullopt;
    ChatForm form =
        NamedChatForm(ChatTemplate::kAlpaca, texts_, Has("bos_token") ? texts_.bos : "");
    if (!Has("Below is an instruction")) {
      form.default_system.reset();
      return HasWordsBut({"Instruction", "Response"}) ? std::nullopt : std::optional(form);
    }
    return form.default_system && Has(*form.default_system) ? std::optional(form) : std::nullopt;
  }

  const JinjaOutline outline_;
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
  std::optional<std::string> own;
  const auto read =
      files::ReadJsonFile(model_directory, "tokenizer_config.json",
                          [&](const files::JsonObject& config) { own = TemplateOf(config); });
  if (!read) return read.error();
  return own;
}

}  // namespace trainctl::data
