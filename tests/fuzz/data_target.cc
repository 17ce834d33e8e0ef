// Rows of data files with their conversations, and the chat templates of models.
#include <string>

#include "tests/fuzz/targets.h"
#include "worker/rank/data/captions.h"
#include "worker/rank/data/chat_form.h"
#include "worker/rank/data/conversation.h"
#include "worker/rank/data/csv_rows.h"
#include "worker/rank/data/jinja_outline.h"
#include "worker/rank/data/json_rows.h"
#include "worker/rank/data/own_template.h"

namespace trainctl::fuzz {
namespace {

// Two seeds may not be told by their first byte, since a CSV file begins with any.
constexpr std::string_view kCsv = "csv\n";

base::Status TakeAnyRow(const files::JsonObject& row) {
  if (row.Has("messages")) {
    const auto turns = data::ReadConversation(row, "messages");
    if (row.failed()) return base::Ok{};
    auto rendered =
        data::RenderChat(data::NamedChatForm(job::ChatTemplate::kMistral, {"<s>", "</s>"}), turns);
    if (!rendered) return rendered.error();
  } else if (row.Has("file_name")) {
    data::PictureOf({}, row, {"/d/metadata.jsonl"}).ok();
  } else {
    row.Text("text", "");
  }
  return base::Ok{};
}

}  // namespace

bool ReadRows(std::string_view bytes) {
  if (!bytes.starts_with(kCsv)) return data::ReadJsonRows(bytes, "d", 1000, TakeAnyRow).ok();
  return data::ReadCsvRows(bytes.substr(kCsv.size()), "d", 1000, TakeAnyRow).ok();
}

bool ReadChatTemplate(std::string_view bytes) {
  data::OutlineOf(bytes);
  const auto form = data::RecognizeTemplate(bytes, {"<s>", "</s>"});
  if (!form) return false;
  using enum data::Role;
  return data::RenderChat(*form, {{kSystem, "S"}, {kUser, "Hi"}, {kAssistant, "Ho"}}).ok();
}

}  // namespace trainctl::fuzz
