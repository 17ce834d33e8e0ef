// A JSON list in chunks of whole elements.
#pragma once

#include <string>
#include <string_view>

#include "worker/rank/data/row_chunk.h"
#include "worker/rank/data/row_lines.h"

namespace trainctl::data {

// Puts chunks until one is not wanted; each reads as ReadJsonRows does, faults included. A list
// that is broken is read again from its begin for the fault's place. text and source outlive them.
void CutJsonList(std::string_view text, const std::string& source, const PutChunk& put,
                 size_t chunk_bytes = kChunkBytes);

}  // namespace trainctl::data
