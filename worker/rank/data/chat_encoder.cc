#include "worker/rank/data/chat_encoder.h"

#include <algorithm>
#include <utility>

#include "common/job/data_format.h"
#include "worker/rank/data/own_template.h"
#include "worker/rank/data/seam.h"

namespace trainctl::data {
namespace {

base::Error InvalidTemplate(const std::string& message) { return {base::Code::kInvalid, message}; }

ChatForm FormNamed(job::ChatTemplate name, const BoundaryTokens& boundary) {
  return NamedChatForm(name, boundary.texts, boundary.bos.empty() ? "" : boundary.texts.bos);
}

// What a named template writes that its name does not tell.
std::string_view AsideOf(job::ChatTemplate name) {
  return name == job::ChatTemplate::kQwen ? " (adds Qwen 2.5's default system turn)" : "";
}

// "name one: chatml, alpaca": those whose special tokens the tokenizer has.
std::string UsableNames(const Tokenizer& tokenizer, const BoundaryTokens& boundary) {
  std::string names;
  for (const auto& [name, value] : job::kChatTemplates) {
    const ChatForm form = FormNamed(value, boundary);
    const bool usable = std::ranges::all_of(
        form.specials, [&](const std::string& text) { return tokenizer.IdOf(text) >= 0; });
    if (!usable) continue;
    names += names.empty() ? "name one: " : ", ";
    names.append(name).append(AsideOf(value));
  }
  return names.empty() ? "it has the special tokens of none of the built-in ones" : names;
}

base::Result<ChatForm> ChooseForm(const job::DataSpec& data, const Tokenizer& tokenizer,
                                  const BoundaryTokens& boundary,
                                  const std::string& model_directory) {
  const auto jinja = ReadOwnTemplate(model_directory);
  if (!jinja) return jinja.error();
  auto own = *jinja ? RecognizeTemplate(**jinja, boundary.texts) : std::nullopt;
  if (own && (!data.chat_template || own->name == *data.chat_template)) return *std::move(own);
  if (data.chat_template) return FormNamed(*data.chat_template, boundary);
  return InvalidTemplate("data.template: null, but the tokenizer in '" + model_directory +
                         (*jinja ? "' has a chat_template that is none of the built-in ones"
                                 : "' has no chat_template") +
                         "; " + UsableNames(tokenizer, boundary));
}

// Marks of the ids whether they are trained; neighbours are one span.
void Ignore(int64_t begin, int64_t end, std::vector<TokenSpan>* ignored) {
  if (begin >= end) return;
  if (!ignored->empty() && ignored->back().end == begin)
    ignored->back().end = end;
  else
    ignored->push_back({begin, end});
}

}  // namespace

base::Result<ChatEncoder> ChatEncoder::Create(const job::DataSpec& data, const Tokenizer& tokenizer,
                                              const BoundaryTokens& boundary,
                                              const std::string& model_directory) {
  auto form = ChooseForm(data, tokenizer, boundary, model_directory);
  if (!form) return form.error();
  ChatEncoder encoder(std::move(form).value(), tokenizer);
  if (auto found = encoder.FindSpecials(model_directory, boundary); !found) return found.error();
  return encoder;
}

base::Status ChatEncoder::FindSpecials(const std::string& model_directory,
                                       const BoundaryTokens& boundary) {
  for (const std::string& text : form_.specials) {
    const int32_t id = tokenizer_->IdOf(text);
    if (id < 0) {
      return InvalidTemplate(
          "data.template " + std::string(job::Name(form_.name)) + " needs " +
          (text.empty() ? "a beginning and an end token" : "the token '" + text + "'") +
          ", which the tokenizer in '" + model_directory + "' does not have; " +
          UsableNames(*tokenizer_, boundary));
    }
    specials_[text] = {id, tokenizer_->Encode(text) == std::vector<int32_t>{id}};
  }
  return base::Ok{};
}

// parts: a special token and the text up to the next, or the text before the first.
void ChatEncoder::AppendChunk(std::span<const ChatPart> parts, MaskedTokens* tokens) const {
  const auto first = static_cast<int64_t>(tokens->ids.size());
  std::string text;
  if (parts.front().special) {
    const Special& special = specials_.at(parts.front().text);
    if (special.is_found_in_text) {
      text = parts.front().text;
    } else {
      tokens->ids.push_back(special.id);
    }
    if (!parts.front().trained) Ignore(first, first + 1, &tokens->ignored);
    parts = parts.subspan(1);
  }
  const bool is_in_text = !text.empty();
  const auto text_begin = static_cast<int64_t>(tokens->ids.size());
  std::string untrained = text;
  bool answers = false;
  for (const ChatPart& part : parts) {
    text += part.text;
    answers = answers || part.trained;
    if (!answers) untrained = text;
  }
  tokenizer_->Encode(text, &tokens->ids);
  const auto end = static_cast<int64_t>(tokens->ids.size());
  int64_t trained_from = end;
  if (answers) {
    const std::span<const int32_t> whole(tokens->ids.begin() + text_begin, tokens->ids.end());
    trained_from = text_begin + static_cast<int64_t>(TokensBefore(
                                    *tokenizer_, tokenizer_->Encode(untrained), whole));
  }
  Ignore(text_begin + (is_in_text ? 1 : 0), trained_from, &tokens->ignored);
}

MaskedTokens ChatEncoder::EncodeParts(std::span<const ChatPart> parts) const {
  MaskedTokens tokens;
  for (size_t begin = 0; begin < parts.size();) {
    size_t end = begin + 1;
    while (end < parts.size() && !parts[end].special) ++end;
    AppendChunk(parts.subspan(begin, end - begin), &tokens);
    begin = end;
  }
  return tokens;
}

base::Result<MaskedTokens> ChatEncoder::Encode(const std::vector<Message>& messages) const {
  const auto parts = RenderChat(form_, messages);
  if (!parts) return parts.error();
  return EncodeParts(*parts);
}

base::Result<std::vector<int32_t>> ChatEncoder::EncodeQuestion(const std::string& question) const {
  const auto parts = RenderQuestion(form_, question);
  if (!parts) return parts.error();
  return EncodeParts(*parts).ids;
}

int32_t ChatEncoder::end_of_answer() const {
  for (const auto& [text, special] : specials_) {
    if (form_.assistant.after.starts_with(text)) return special.id;
  }
  return -1;
}

}  // namespace trainctl::data
