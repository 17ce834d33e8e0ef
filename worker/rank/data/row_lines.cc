#include "worker/rank/data/row_lines.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "worker/rank/data/csv_rows.h"

namespace trainctl::data {
namespace {

class JsonLines : public RowLines {
 public:
  explicit JsonLines(std::string_view all)
      : RowLines(all, all.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0, 1) {}

  size_t EndOf(size_t begin, size_t bytes) const override {
    const size_t least = begin + std::max<size_t>(bytes, 1) - 1;
    return least < text().size() ? BeginBehind(least) : text().size();
  }
  size_t BeginBehind(size_t place) const override {
    return std::min(text().find('\n', place), text().size() - 1) + 1;
  }
  base::Status Read(std::string_view part, const std::string& source, int64_t line,
                    const TakeRow& take) const override {
    const auto rows = ReadJsonLines(part, source, line, std::nullopt, take);
    if (!rows) return rows.error();
    return base::Ok{};
  }
};

class CsvLines : public RowLines {
 public:
  CsvLines(std::string_view all, CsvHead head)
      : RowLines(all, head.bytes, head.lines + 1), columns_(std::move(head.columns)) {}

  size_t EndOf(size_t begin, size_t bytes) const override {
    size_t end = begin;
    do end = CsvRecordEnd(text(), end);
    while (end < text().size() && end - begin < bytes);
    return end;
  }
  size_t BeginBehind(size_t place) const override {
    return CsvRecordBehind(text(), place, columns_.size());
  }
  base::Status Read(std::string_view part, const std::string& source, int64_t line,
                    const TakeRow& take) const override {
    return ReadCsvRecords(columns_, part, source, line, take);
  }

 private:
  const std::vector<std::string> columns_;
};

}  // namespace

bool IsNamedAsCsv(std::string_view source) { return source.ends_with(".csv"); }

base::Result<std::unique_ptr<RowLines>> OpenRowLines(std::string_view text,
                                                     const std::string& source) {
  std::unique_ptr<RowLines> lines;
  if (!IsNamedAsCsv(source)) {
    lines = std::make_unique<JsonLines>(text);
    return lines;
  }
  auto head = ReadCsvHead(text, source);
  if (!head) return head.error();
  lines = std::make_unique<CsvLines>(text, std::move(*head));
  return lines;
}

void CutLines(const RowLines& lines, const std::string& source, const PutChunk& put,
              size_t chunk_bytes) {
  const std::string_view text = lines.text();
  int64_t line = lines.first_line();
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = lines.EndOf(begin, chunk_bytes);
    const std::string_view part = text.substr(begin, end - begin);
    const auto read = [&lines, &source, part, line](const TakeRow& take) {
      return lines.Read(part, source, line, take);
    };
    if (!put({read, static_cast<int64_t>(lines.head_bytes() + end)})) return;
    line += std::ranges::count(part, '\n');
    begin = end;
  }
}

}  // namespace trainctl::data
