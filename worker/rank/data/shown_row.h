// A row as people read it: its text with special tokens, and what of it counts in the loss.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/estimate/inspection.h"
#include "worker/rank/data/dataset.h"
#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::data {

constexpr size_t kMostShownPieces = 12;
constexpr size_t kMostPieceBytes = 400;

// The row as a batch has it. Neighbours that count alike are one piece. Of a longer piece the
// middle is left out; of more pieces all behind the last one. Its note is left empty.
job::ShownRow ShowRow(const Dataset& dataset, int64_t row_index, const Tokenizer& tokenizer);

}  // namespace trainctl::data
