// Aligned columns for people, and the same as Markdown and HTML. Widths count code points. Not
// thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trainctl::client {

enum class Style { kPlain, kStrong, kGood, kWarning, kBad, kFaint };

// The text in the style's colour where `colour`, else the text.
std::string Styled(std::string_view text, Style style, bool colour);

struct TextColumn {
  std::string header;
  bool right = false;  // numbers
  bool cut = false;    // what is too long for the terminal ends in "…"
  int goes = 0;        // where the terminal is too narrow the highest goes first; 0: stays
};

struct TextCell {
  TextCell(std::string words = "", Style its_style = Style::kPlain)
      : text(std::move(words)), style(its_style) {}
  TextCell(const char* words) : text(words) {}
  std::string text;
  Style style = Style::kPlain;
  std::string link;  // a path that Markdown leads to; else empty
};

struct TableLayout {
  int width = 0;  // columns of the terminal; 0: unlimited
  bool colour = false;
};

class TextTable {
 public:
  explicit TextTable(std::vector<TextColumn> columns) : columns_(std::move(columns)) {}

  // Missing cells are empty.
  void AddRow(std::vector<TextCell> cells);
  // A line of its own between rows, after an empty one; an empty text is only the empty line.
  void AddHeading(std::string text);

  bool empty() const { return rows_.empty(); }

  // Two spaces between columns. Where the terminal is too narrow, columns that may go are left out
  // first; a line below says which. Those that may be cut are cut next. Then the last column is
  // wrapped at spaces; where fewer than 24 columns would be left for it, it stands below its row,
  // indented. Columns that do not stand beside each other even so go on there, too.
  std::string Render(const TableLayout& layout) const;
  std::string Markdown() const;
  // An element with the classes r (numbers), good, warning, bad, and h of a heading's row.
  std::string Html() const;

 private:
  struct Row {
    bool heading = false;
    std::vector<TextCell> cells;
  };

  struct Columns {
    std::vector<int> widths;
    std::vector<bool> breaks;  // before which a row goes on in a line of its own
    bool last_below = false;   // what is wider than the last column stands below its row
    size_t indent = 0;         // of the wrapped lines
    int wrap_width = 0;
  };

  // What it takes beside its last column's wrapped lines.
  static int WidthOf(const std::vector<int>& widths);
  // Whether its columns stand in the terminal.
  std::vector<bool> Standing(int width) const;
  TextTable Narrowed(const std::vector<bool>& stands) const;
  std::string RenderAll(const TableLayout& layout) const;
  std::vector<int> Widths() const;
  void Cut(int width, std::vector<int>* widths) const;
  Columns LayOut(int width) const;
  std::string RenderRow(const Row& row, const Columns& columns, bool colour) const;

  std::vector<TextColumn> columns_;
  std::vector<Row> rows_;
};

}  // namespace trainctl::client
