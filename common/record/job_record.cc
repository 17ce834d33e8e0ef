#include "common/record/job_record.h"

#include <algorithm>

namespace trainctl::record {
namespace {

// {"lab": "2"}
Json TagsJson(const v1::JobView& view) {
  Json tags = Json::object();
  for (const std::string& tag : view.tags()) {
    const size_t equals = std::min(tag.find('='), tag.size());
    tags[tag.substr(0, equals)] = tag.substr(std::min(equals + 1, tag.size()));
  }
  return tags;
}

}  // namespace

Json JobRecord(const v1::JobView& view) {
  return {
      {"id", view.id()},
      {"name", view.name()},
      {"group", TextOrNull(view.group())},
      {"group_name", TextOrNull(view.group_name())},
      {"state", view.state()},
      {"outcome", TextOrNull(view.outcome())},
      {"as_expected", Known(view.has_as_expected(), view.as_expected())},
      {"step", view.step()},
      {"steps", Known(view.steps() > 0, view.steps())},
      {"loss", Known(view.has_loss(), view.loss())},
      {"tokens_per_second", Known(view.has_tokens_per_second(), view.tokens_per_second())},
      {"peak_allocated_bytes", Known(view.peak_allocated_bytes() > 0, view.peak_allocated_bytes())},
      {"reason", TextOrNull(view.reason())},
      {"message", TextOrNull(view.message())},
      {"placement", std::vector<std::string>(view.placement().begin(), view.placement().end())},
      {"devices", view.devices()},
      {"exclusive", view.exclusive()},
      {"attempt", view.attempt()},
      {"priority", view.priority()},
      {"submitted_at", Seconds(view.submitted_at())},
      {"started_at", Seconds(view.started_at())},
      {"ended_at", Seconds(view.ended_at())},
      {"remaining_seconds", Known(view.remaining_seconds() > 0, view.remaining_seconds())},
      {"owner", TextOrNull(view.owner())},
      {"tags", TagsJson(view)},
      {"predicted_start", Seconds(view.predicted_start())},
  };
}

}  // namespace trainctl::record
