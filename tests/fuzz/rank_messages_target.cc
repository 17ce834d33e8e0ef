// JSON between ranks, shims and workers, and the record of what a run has saved.
#include <string>

#include "common/base/check.h"
#include "common/base/saved_folder.h"
#include "common/rank/rank_json.h"
#include "tests/fuzz/targets.h"
#include "worker/shim/line_fields.h"

namespace trainctl::fuzz {
namespace {

// Whether it was read; then it is read again from what it is written as.
template <class Read, class Write>
bool RoundTrip(std::string_view text, Read read, Write write) {
  const auto value = read(text);
  if (!value) return false;
  const std::string written = write(*value);
  const auto again = read(written);
  CHECK(again.ok()) << written << ": " << again.error().message;
  CHECK(write(*again) == written) << written;
  return true;
}

}  // namespace

bool ReadRankMessages(std::string_view bytes) {
  shim::HasType(bytes, "progress");
  shim::NumberField(bytes, "messages");
  shim::Quoted(bytes);
  const auto to_line = [](const auto& value) { return job::ToLine(value); };
  const auto to_json = [](const auto& value) { return job::ToJson(value); };
  const auto to_text = [](const auto& value) { return base::ToText(value); };
  const bool message = RoundTrip(bytes, job::RankMessageFromLine, to_line);
  const bool command = RoundTrip(bytes, job::RankCommandFromLine, to_line);
  const bool plan = RoundTrip(bytes, job::RankPlanFromJson, to_json);
  const bool oom = RoundTrip(bytes, job::OomDetailFromJson, to_json);
  const bool saved = RoundTrip(bytes, base::ParseSavedRecord, to_text);
  return message || command || plan || oom || saved;
}

}  // namespace trainctl::fuzz
