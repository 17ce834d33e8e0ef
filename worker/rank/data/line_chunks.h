// JSON lines in chunks of whole lines.
#pragma once

#include <string>
#include <string_view>

#include "worker/rank/data/row_chunk.h"

namespace trainctl::data {

inline constexpr size_t kLineChunkBytes = 1 << 20;  // about

// The text's first lines, of so many bytes or a little more; "": there are none.
std::string_view WholeLines(std::string_view text, size_t bytes);

// Puts chunks until one is not wanted; each reads as ReadJsonRows does. text and source outlive
// them.
void CutJsonLines(std::string_view text, const std::string& source, const PutChunk& put,
                  size_t chunk_bytes = kLineChunkBytes);

}  // namespace trainctl::data
