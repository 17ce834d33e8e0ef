#include "worker/rank/data/line_chunks.h"

#include <algorithm>

namespace trainctl::data {

std::string_view WholeLines(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  return text.substr(0, std::min(text.find('\n', bytes - 1), text.size() - 1) + 1);
}

void CutJsonLines(std::string_view text, const std::string& source, const PutChunk& put,
                  size_t chunk_bytes) {
  const size_t all = text.size();
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  for (int64_t line = 1; !text.empty();) {
    const std::string_view part = WholeLines(text, chunk_bytes);
    text.remove_prefix(part.size());
    const auto read = [part, line, &source](const TakeRow& take) -> base::Status {
      const auto rows = ReadJsonLines(part, source, line, std::nullopt, take);
      if (!rows) return rows.error();
      return base::Ok{};
    };
    if (!put({read, static_cast<int64_t>(all - text.size())})) return;
    line += std::ranges::count(part, '\n');
  }
}

}  // namespace trainctl::data
