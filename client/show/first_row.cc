#include "client/show/first_row.h"

#include "client/show/format.h"
#include "common/base/one_line.h"

namespace trainctl::client {

std::string FirstRowText(const job::Inspection& inspection, const TableLayout& layout) {
  constexpr int kIndent = 2;
  if (!inspection.first_row) return "";
  const job::ShownRow& row = *inspection.first_row;
  const std::string heading = "First row: " + Plural(row.tokens, "token") + "; the " +
                              WithThousands(row.trained) +
                              " that count in the loss stand between « and »";
  std::string text;
  for (const job::RowPiece& piece : row.pieces) {
    const std::string words = base::OnOneLine(piece.text);
    text += piece.trained ? "«" + words + "»" : words;
  }
  const std::string note =
      row.note.empty() ? ""
                       : WrapLines("Note: " + base::OnOneLine(row.note), layout.width, kIndent);
  return WrapLines(heading, layout.width, kIndent) + std::string(kIndent, ' ') +
         WrapLines(text, layout.width, kIndent) + note;
}

Json FirstRowJson(const job::Inspection& inspection) {
  if (!inspection.first_row) return nullptr;
  Json pieces = Json::array();
  for (const job::RowPiece& piece : inspection.first_row->pieces)
    pieces.push_back({{"text", piece.text}, {"trained", piece.trained}});
  return {{"tokens", inspection.first_row->tokens},
          {"trained", inspection.first_row->trained},
          {"pieces", std::move(pieces)},
          {"note", inspection.first_row->note}};
}

}  // namespace trainctl::client
