// A text whose rows stand one behind the other: JSON lines, or the records of CSV. Parts of whole
// rows can each be read by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "worker/rank/data/row_chunk.h"

namespace trainctl::data {

inline constexpr size_t kChunkBytes = 1 << 20;  // about

// Immutable. Places are those of text().
class RowLines {
 public:
  virtual ~RowLines() = default;

  // From the first row on; lies in what was opened.
  std::string_view text() const { return text_; }
  // Of what was opened, before that.
  size_t head_bytes() const { return head_bytes_; }
  // The number of text's first line, from 1.
  int64_t first_line() const { return first_line_; }

  // The end of the rows from `begin`, where one begins: of so many bytes, or a little more.
  virtual size_t EndOf(size_t begin, size_t bytes) const = 0;
  // Where a row begins behind that place; the text's size: nowhere.
  virtual size_t BeginBehind(size_t place) const = 0;
  // The rows of a part of whole ones, which is the source's from that line on. Errors: those of
  // TakeJsonRow; kInvalid: what is wrong, and in which line.
  virtual base::Status Read(std::string_view part, const std::string& source, int64_t line,
                            const TakeRow& take) const = 0;

 protected:
  RowLines(std::string_view all, size_t head_bytes, int64_t first_line)
      : text_(all.substr(head_bytes)), head_bytes_(head_bytes), first_line_(first_line) {}

 private:
  const std::string_view text_;
  const size_t head_bytes_;
  const int64_t first_line_;
};

// CSV by the source's name, else JSON lines. The text outlives it.
// kInvalid: the first line of CSV does not name its columns.
base::Result<std::unique_ptr<RowLines>> OpenRowLines(std::string_view text,
                                                     const std::string& source);

bool IsNamedAsCsv(std::string_view source);

// Puts chunks until one is not wanted. lines and source outlive them.
void CutLines(const RowLines& lines, const std::string& source, const PutChunk& put,
              size_t chunk_bytes = kChunkBytes);

}  // namespace trainctl::data
