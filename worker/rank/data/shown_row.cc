#include "worker/rank/data/shown_row.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/utf8.h"
#include "worker/rank/data/batches.h"

namespace trainctl::data {
namespace {

constexpr std::string_view kLeftOut = " … ";

std::string Shortened(const std::string& text) {
  if (text.size() <= kMostPieceBytes) return text;
  const std::string_view head = base::WholeCharacters(text, kMostPieceBytes * 3 / 4);
  const size_t tail = base::WholeCharacters(text, text.size() - kMostPieceBytes / 4).size();
  return std::string(head).append(kLeftOut).append(text.substr(tail));
}

// The tokens' text, read behind the token before them: a decoder may drop the space that begins a
// text.
std::string TextOf(const Tokenizer& tokenizer, std::span<const int32_t> ids, size_t begin,
                   size_t end) {
  const auto piece = ids.subspan(begin, end - begin);
  if (begin == 0) return tokenizer.Decode(piece);
  const std::string before = tokenizer.Decode(ids.subspan(begin - 1, 1));
  const std::string both = tokenizer.Decode(ids.subspan(begin - 1, end - begin + 1));
  return both.starts_with(before) ? both.substr(before.size()) : tokenizer.Decode(piece);
}

}  // namespace

job::ShownRow ShowRow(const Dataset& dataset, int64_t row_index, const Tokenizer& tokenizer) {
  const Batch batch = MakeBatch(dataset, std::span(&row_index, 1));
  const std::vector<int32_t> ids(batch.inputs.begin(), batch.inputs.begin() + batch.longest_row);
  const auto counts = [&](size_t token) {
    return token > 0 && batch.targets[token - 1] != kIgnored;
  };
  job::ShownRow shown{.tokens = batch.longest_row, .trained = batch.trained_tokens, .pieces = {}};
  for (size_t begin = 0, end = 0; begin < ids.size(); begin = end) {
    while (end < ids.size() && counts(end) == counts(begin)) ++end;
    if (shown.pieces.size() == kMostShownPieces) {
      shown.pieces.back().text += kLeftOut;
      break;
    }
    shown.pieces.push_back({Shortened(TextOf(tokenizer, ids, begin, end)), counts(begin)});
  }
  return shown;
}

}  // namespace trainctl::data
