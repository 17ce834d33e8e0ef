#include "worker/rank/files/token_id.h"

#include <nlohmann/json.hpp>

namespace trainctl::files {

using nlohmann::json;

int64_t ReadTokenId(const JsonObject& config, const std::string& key, int64_t absent,
                    int64_t vocab) {
  if (!config.Has(key)) return absent < vocab ? absent : -1;
  const json* value = config.Get(key);
  if (value == nullptr) return -1;
  if (!value->is_array()) return config.Integer(key, 0, vocab - 1);
  const json first = value->empty() ? json() : value->front();
  if (first.is_number_unsigned() && first.get<uint64_t>() < static_cast<uint64_t>(vocab))
    return first.get<int64_t>();
  config.Expected(key, "a token id below vocab_size, or a list of them");
  return -1;
}

}  // namespace trainctl::files
