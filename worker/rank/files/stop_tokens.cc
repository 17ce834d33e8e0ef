#include "worker/rank/files/stop_tokens.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "common/base/file.h"
#include "worker/rank/files/hf_directory.h"
#include "worker/rank/files/json_object.h"
#include "worker/rank/files/json_text.h"

namespace trainctl::files {
namespace {

using StopTokens = std::vector<int64_t>;

constexpr const char* kStopKey = "eos_token_id";
constexpr size_t kMostConfigBytes = 1 << 20;

// nullopt: it says nothing.
std::optional<StopTokens> StopsOf(const JsonObject& config, int64_t vocab) {
  const nlohmann::json* value = config.Get(kStopKey);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) return StopTokens{config.Integer(kStopKey, 0, vocab - 1)};
  StopTokens stops;
  for (const nlohmann::json& id : *value) {
    const bool is_token =
        id.is_number_unsigned() && id.get<uint64_t>() < static_cast<uint64_t>(vocab);
    if (!is_token) {
      config.Expected(kStopKey, "a token id below vocab_size, or a list of them");
      break;
    }
    stops.push_back(id.get<int64_t>());
  }
  return stops;
}

base::Result<std::optional<StopTokens>> ReadStopsOf(const std::string& directory, const char* name,
                                                    const job::ModelShape& shape) {
  if (!HasFile(directory, name)) return std::optional<StopTokens>();
  const std::string path = directory + "/" + name;
  const auto text = base::ReadRegularFile(path, kMostConfigBytes);
  if (!text) return text.error();
  const auto document = ParseJsonText(*text, path);
  if (!document) return document.error();
  Fault fault;
  const JsonObject config(*document, path + ": ", &fault);
  const bool is_nested = shape.image && config.Get("text_config") != nullptr;
  std::optional<StopTokens> stops =
      StopsOf(is_nested ? config.Object("text_config") : config, shape.vocab);
  if (fault) return *fault;
  return stops;
}

}  // namespace

base::Result<StopTokens> ReadStopTokens(const std::string& directory,
                                        const job::ModelShape& shape) {
  for (const char* name : {"generation_config.json", "config.json"}) {
    auto stops = ReadStopsOf(directory, name, shape);
    if (!stops) return stops.error();
    if (*stops) return std::move(**stops);
  }
  return shape.eos_token < 0 ? StopTokens{} : StopTokens{shape.eos_token};
}

}  // namespace trainctl::files
