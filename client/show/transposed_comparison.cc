#include "client/show/transposed_comparison.h"

#include <algorithm>
#include <utility>

#include "client/show/compare_cell.h"
#include "client/show/escaping.h"
#include "client/show/format.h"

namespace trainctl::client {
namespace {

constexpr int kColumnGap = 2;
constexpr int kLongestHeading = 24;
constexpr int kLongestText = 28;    // of a setting
constexpr int kNarrowestLabel = 9;  // a longer word of it is broken
constexpr int kDefaultWidth = 100;

std::string Padding(int width) { return std::string(static_cast<size_t>(std::max(0, width)), ' '); }

std::string Right(const std::string& text, int width) {
  return Padding(width - DisplayWidth(text)) + text;
}

std::string Left(const std::string& text, int width) {
  return text + Padding(width - DisplayWidth(text));
}

int Widest(const std::vector<std::string>& texts) {
  int width = 0;
  for (const std::string& text : texts) width = std::max(width, DisplayWidth(text));
  return width;
}

// "train.micro_batch_size" may be broken behind each dot and underscore.
std::string WithBreaks(const std::string& label, int width) {
  std::string text, piece;
  const auto put = [&] {
    const size_t space = text.rfind(' ');
    const std::string word = text.substr(space == std::string::npos ? 0 : space + 1);
    if (!word.empty() && DisplayWidth(word) + DisplayWidth(piece) > width) text += ' ';
    text += piece;
    piece.clear();
  };
  for (const char c : label) {
    piece += c;
    if (c == '.' || c == '_' || c == ' ') put();
  }
  put();
  return text;
}

// One row of the comparison as a column: values, percentages and marks stand below each other.
struct Column {
  const v1::CompareRow* row = nullptr;
  std::vector<std::string> header;  // its lines
  std::vector<TextCell> cells;
  bool right = false;
  int width = 0;
};

Column ColumnOf(const v1::CompareRow& row, const std::vector<int>& places) {
  Column column{.row = &row};
  std::vector<std::string> values, deltas;
  bool has_best = false;
  for (const int i : places) {
    const v1::CompareValue& value = row.values(i);
    column.right = column.right || value.has_number();
    has_best = has_best || value.best();
    values.push_back(Truncate(Escaped(ValueText(row, value)), kLongestText));
    deltas.push_back(value.has_delta() ? FormatDelta(value.delta()) : "");
  }
  const int value_width = Widest(values), delta_width = Widest(deltas);
  for (size_t i = 0; i < places.size(); ++i) {
    const bool best = row.values(places[i]).best();
    std::string text = column.right ? Right(values[i], value_width) : Left(values[i], value_width);
    if (delta_width > 0) text += " " + Right(deltas[i], delta_width);
    if (has_best) text += best ? " *" : "  ";
    column.cells.emplace_back(std::move(text), best ? Style::kGood : Style::kPlain);
  }
  const int cell_width = column.cells.empty() ? 0 : DisplayWidth(column.cells.front().text);
  const int label_width = std::max(cell_width, kNarrowestLabel);
  column.header = WrapWords(WithBreaks(Escaped(row.label()), label_width), label_width);
  column.width = std::max(cell_width, Widest(column.header));
  return column;
}

std::string NameList(const v1::CompareResponse& response, const std::vector<int>& places) {
  std::vector<std::string> ids;
  for (const int i : places) ids.push_back(response.jobs(i).id());
  return Join(ids, ", ");
}

// "predicted time: as measured (j1, j3); −3.1 % of the measured (j2)"; empty: no notes.
std::string NotesText(const v1::CompareResponse& response, const v1::CompareRow& row,
                      const std::vector<int>& places) {
  std::vector<std::pair<std::string, std::vector<int>>> notes;
  for (const int i : places) {
    const std::string& note = row.values(i).note();
    if (note.empty()) continue;
    const auto known = std::ranges::find(notes, note, &decltype(notes)::value_type::first);
    if (known != notes.end()) {
      known->second.push_back(i);
    } else {
      notes.push_back({note, {i}});
    }
  }
  std::string text;
  for (const auto& [note, jobs] : notes) {
    const std::string who = jobs.size() == places.size() ? "all" : NameList(response, jobs);
    text += (text.empty() ? row.label() + ": " : "; ") + note + " (" + who + ")";
  }
  return text;
}

// The jobs' names, and columns beside them.
class Block {
 public:
  Block(const v1::CompareResponse& response, const std::vector<int>& places, TableLayout layout)
      : response_(response), places_(places), layout_(layout) {
    for (const int i : places)
      names_.push_back(Escaped(HeadingOf(response.jobs(i), kLongestHeading)));
    name_width_ = width_ = Widest(names_);
  }

  bool empty() const { return columns_.empty(); }

  // Whether it fits. The first always does.
  bool Add(const Column& column) {
    if (!empty() && width_ + kColumnGap + column.width > layout_.width) return false;
    columns_.push_back(column);
    width_ += kColumnGap + column.width;
    return true;
  }

  std::string Render() const {
    std::string text = HeaderText();
    for (size_t i = 0; i < places_.size(); ++i) {
      std::string line = Left(names_[i], name_width_);
      for (const Column& column : columns_) {
        const TextCell& cell = column.cells[i];
        const std::string styled = Styled(cell.text, cell.style, layout_.colour);
        const std::string padding = Padding(column.width - DisplayWidth(cell.text));
        line += Padding(kColumnGap) + (column.right ? padding + styled : styled + padding);
      }
      text += line.erase(line.find_last_not_of(' ') + 1) + "\n";
    }
    for (const Column& column : columns_) {
      const std::string notes = NotesText(response_, *column.row, places_);
      if (notes.empty()) continue;
      for (const std::string& line : WrapWords(Escaped(notes), layout_.width - kColumnGap))
        text += Padding(kColumnGap) + Styled(line, Style::kFaint, layout_.colour) + "\n";
    }
    return text;
  }

 private:
  // Labels end on the line above the values.
  std::string HeaderText() const {
    size_t height = 0;
    for (const Column& column : columns_) height = std::max(height, column.header.size());
    std::string text;
    for (size_t i = 0; i < height; ++i) {
      std::string line = Padding(name_width_);
      for (const Column& column : columns_) {
        const size_t above = height - column.header.size();
        const std::string label = i < above ? "" : column.header[i - above];
        line += Padding(kColumnGap) +
                (column.right ? Right(label, column.width) : Left(label, column.width));
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += Styled(line, Style::kFaint, layout_.colour) + "\n";
    }
    return text;
  }

  const v1::CompareResponse& response_;
  const std::vector<int>& places_;
  const TableLayout layout_;
  std::vector<std::string> names_;
  std::vector<Column> columns_;
  int name_width_ = 0, width_ = 0;
};

}  // namespace

std::string TransposedText(const v1::CompareResponse& response, const std::vector<int>& places,
                           const TableLayout& layout) {
  const TableLayout bounded{.width = layout.width > 0 ? layout.width : kDefaultWidth,
                            .colour = layout.colour};
  std::vector<Block> blocks;
  for (const v1::CompareRow& row : response.rows()) {
    const Column column = ColumnOf(row, places);
    if (!blocks.empty() && blocks.back().Add(column)) continue;
    blocks.emplace_back(response, places, bounded).Add(column);
  }
  std::string text;
  for (const Block& block : blocks) text += (text.empty() ? "" : "\n") + block.Render();
  return text;
}

TextTable TransposedTable(const v1::CompareResponse& response, const std::vector<int>& places) {
  std::vector<TextColumn> columns = {{""}};
  for (const v1::CompareRow& row : response.rows()) {
    const bool right = std::ranges::any_of(
        row.values(), [](const v1::CompareValue& value) { return value.has_number(); });
    columns.push_back({row.label(), right});
  }
  TextTable table(std::move(columns));
  for (const int i : places) {
    std::vector<TextCell> cells = {HeadingOf(response.jobs(i), 0)};
    for (const v1::CompareRow& row : response.rows())
      cells.push_back(ValueCell(row, row.values(i)));
    table.AddRow(std::move(cells));
  }
  return table;
}

std::vector<Json> JobRecords(const v1::CompareResponse& response) {
  std::vector<Json> records;
  for (int i = 0; i < response.jobs_size(); ++i) {
    Json& record = records.emplace_back(
        Json{{"id", response.jobs(i).id()}, {"name", response.jobs(i).name()}});
    for (const v1::CompareRow& row : response.rows()) record[row.key()] = ValueJson(row.values(i));
  }
  return records;
}

}  // namespace trainctl::client
