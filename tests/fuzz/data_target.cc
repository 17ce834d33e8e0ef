// Rows of data files with their conversations, and the chat templates of models.
#include <string>

#include "common/base/check.h"
#include "tests/fuzz/targets.h"
#include "worker/rank/data/captions.h"
#include "worker/rank/data/chat_form.h"
#include "worker/rank/data/conversation.h"
#include "worker/rank/data/jinja_outline.h"
#include "worker/rank/data/json_rows.h"
#include "worker/rank/data/own_template.h"
#include "worker/rank/data/row_lines.h"

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
  const auto lines = data::OpenRowLines(bytes.substr(kCsv.size()), "d.csv");
  if (!lines) return false;
  const std::string_view text = (*lines)->text();
  // Where a sample begins, and in chunks as a job reads.
  for (size_t place = 0; place < text.size(); place += 7) {
    const size_t begin = (*lines)->BeginBehind(place);
    CHECK(begin > place && begin <= text.size()) << begin;
  }
  bool is_read = true;
  data::CutLines(
      **lines, "d.csv",
      [&](const data::RowChunk& chunk) { return is_read = chunk.read(TakeAnyRow).ok(); }, 16);
  return is_read;
}

bool ReadChatTemplate(std::string_view bytes) {
  data::OutlineOf(bytes);
  const auto form = data::RecognizeTemplate(bytes, {"<s>", "</s>"});
  if (!form) return false;
  using enum data::Role;
  return data::RenderChat(*form, {{kSystem, "S"}, {kUser, "Hi"}, {kAssistant, "Ho"}}).ok();
}

}  // namespace trainctl::fuzz
