#include "worker/rank/data/row_format.h"

#include <utility>

#include "common/base/check.h"
#include "common/job/data_format.h"
#include "worker/rank/data/chat_encoder.h"
#include "worker/rank/data/prompt.h"

namespace trainctl::data {
namespace {

using files::JsonObject;
using job::ColumnOf;

ReadRow AlpacaRows(const job::DataSpec& data) {
  return [&data, instruction = ColumnOf(data, "instruction"), input = ColumnOf(data, "input"),
          output = ColumnOf(data, "output")](const JsonObject& row,
                                             RowCollector* rows) -> base::Status {
    const std::string prompt = AlpacaPrompt(row.Text(instruction), row.Text(input, ""));
    const std::string answer = row.Text(output);
    if (row.failed()) return base::Ok{};  // which the reader of rows tells
    return rows->Add({prompt, answer, data.mask_prompt});
  };
}

ReadRow TextRows(const job::DataSpec& data) {
  return
      [column = ColumnOf(data, "text")](const JsonObject& row, RowCollector* rows) -> base::Status {
        const std::string text = row.Text(column);
        if (row.failed()) return base::Ok{};  // which the reader of rows tells
        return rows->Add({.completion = text});
      };
}

ReadRow CompletionRows(const job::DataSpec& data) {
  return [&data, prompt = ColumnOf(data, "prompt"), completion = ColumnOf(data, "completion")](
             const JsonObject& row, RowCollector* rows) -> base::Status {
    const std::string before = row.Text(prompt), after = row.Text(completion);
    if (row.failed()) return base::Ok{};  // which the reader of rows tells
    return rows->Add({before, after, data.mask_prompt, Seam::kJoined});
  };
}

// A column that the job does not name has one of two names.
std::string TurnsKey(const job::DataSpec& data, const JsonObject& row) {
  if (data.columns.contains("messages")) return ColumnOf(data, "messages");
  return !row.Has("messages") && row.Has("conversations") ? "conversations" : "messages";
}

ReadRow ChatRows(const job::DataSpec& data, ChatEncoder encoder) {
  return [&data, encoder = std::move(encoder)](const JsonObject& row,
                                               RowCollector* rows) -> base::Status {
    const std::string key = TurnsKey(data, row);
    const std::vector<Message> messages = ReadConversation(row, key);
    if (row.failed()) return base::Ok{};  // which the reader of rows tells
    size_t bytes = 0;
    for (const Message& message : messages)
      bytes += message.content.size() + message.thoughts.value_or("").size();
    if (bytes > kMaxChatBytes) {
      return base::Error{base::Code::kInvalid,
                         key + ": turns of more than " + std::to_string(kMaxChatBytes) + " bytes"};
    }
    auto tokens = encoder.Encode(messages);
    if (!tokens) return base::Error{tokens.error().code, key + tokens.error().message};
    if (!data.mask_prompt) tokens->ignored.clear();
    return rows->Add(*tokens);
  };
}

// The placeholders stand before bos, as Blip2Processor has them.
MaskedTokens CaptionTokens(const std::string& text, const Tokenizer& tokenizer,
                           const BoundaryTokens& boundary, const Placeholders& placeholders) {
  MaskedTokens tokens;
  tokens.ids.assign(static_cast<size_t>(placeholders.count),
                    static_cast<int32_t>(placeholders.token));
  tokens.ids.insert(tokens.ids.end(), boundary.bos.begin(), boundary.bos.end());
  if (!tokens.ids.empty()) tokens.ignored = {{0, std::ssize(tokens.ids)}};
  tokenizer.Encode(text, &tokens.ids);
  if (boundary.eos >= 0) tokens.ids.push_back(static_cast<int32_t>(boundary.eos));
  return tokens;
}

ReadRow CaptionRows(const job::DataSpec& data, const Tokenizer& tokenizer,
                    const BoundaryTokens& boundary, const CaptionSource& source) {
  return [&data, &tokenizer, boundary, source, column = ColumnOf(data, "text")](
             const JsonObject& row, RowCollector* rows) -> base::Status {
    auto picture = PictureOf(data, row, source.pictures);
    const std::string text = row.Text(column);
    if (row.failed()) return base::Ok{};  // which the reader of rows tells
    if (!picture) return picture.error();
    if (text.size() > kMaxTextBytes) {
      return base::Error{base::Code::kInvalid, column + ": a text of more than " +
                                                   std::to_string(kMaxTextBytes) + " bytes"};
    }
    return rows->AddPicture(*picture,
                            CaptionTokens(text, tokenizer, boundary, source.placeholders));
  };
}

}  // namespace

base::Result<ReadRow> RowReaderOf(const job::DataSpec& data, const Tokenizer& tokenizer,
                                  const BoundaryTokens& boundary,
                                  const std::string& model_directory,
                                  const CaptionSource& captions) {
  switch (data.format) {
    case job::DataFormat::kAlpaca: return AlpacaRows(data);
    case job::DataFormat::kText: return TextRows(data);
    case job::DataFormat::kCompletion: return CompletionRows(data);
    case job::DataFormat::kChat: {
      auto encoder = ChatEncoder::Create(data, tokenizer, boundary, model_directory);
      if (!encoder) return encoder.error();
      return ChatRows(data, std::move(encoder).value());
    }
    case job::DataFormat::kCaptions: return CaptionRows(data, tokenizer, boundary, captions);
    default: CHECK(false) << static_cast<int>(data.format);
  }
}

}  // namespace trainctl::data
