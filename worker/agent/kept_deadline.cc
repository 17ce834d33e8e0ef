#include "worker/agent/kept_deadline.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/base/file.h"

namespace trainctl::agent {
namespace {

constexpr int64_t kMaxDeadlineBytes = 16 << 10;

// Of a record that is damaged the members that are missing are left alone.
void ReadInto(const nlohmann::json& json, const char* key, int64_t* value) {
  if (json.contains(key) && json[key].is_number_integer()) *value = json[key].get<int64_t>();
}

std::string Text(const nlohmann::json& json, const char* key) {
  return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : "";
}

}  // namespace

KeptDeadline::KeptDeadline(std::string folder, const base::Clock& clock)
    : file_(std::move(folder) + "/deadline.json"), clock_(clock) {}

void KeptDeadline::Read() {
  const base::Result<std::string> text = base::ReadFile(file_, kMaxDeadlineBytes);
  if (!text) return;
  const nlohmann::json json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object()) return;
  job::Deadline read;
  int64_t at = clock_.Wall();
  ReadInto(json, "at", &at);
  ReadInto(json, "grace_us", &read.grace_us);
  read.outcome = job::ParseOutcome(Text(json, "outcome")).value_or(read.outcome);
  if (!job::IsOfDeadline(read.outcome)) read.outcome = job::Outcome::kLeaseEnded;
  read.message = Text(json, "message");
  has_come_ = json.contains("has_come") && json["has_come"] == true;
  at_ = clock_.Steady() + (at - clock_.Wall());
  deadline_ = std::move(read);
}

void KeptDeadline::Set(const std::optional<job::Deadline>& deadline) {
  if (has_come_) return;
  deadline_ = deadline;
  if (deadline_) {
    at_ = clock_.Steady() + deadline_->in_us;
    return Write();
  }
  std::error_code error;
  std::filesystem::remove(file_, error);
  if (error) spdlog::error("{} can't be removed: {}", file_, error.message());
}

std::optional<job::Deadline> KeptDeadline::Come() {
  if (!deadline_ || is_told_ || (!has_come_ && clock_.Steady() < at_)) return std::nullopt;
  is_told_ = true;
  if (!std::exchange(has_come_, true)) Write();
  return deadline_;
}

std::optional<job::Deadline> KeptDeadline::Passed() const {
  return has_come_ ? deadline_ : std::nullopt;
}

void KeptDeadline::Write() const {
  const nlohmann::json json = {{"at", clock_.Wall() + (at_ - clock_.Steady())},
                               {"grace_us", deadline_->grace_us},
                               {"outcome", std::string(job::Name(deadline_->outcome))},
                               {"message", deadline_->message},
                               {"has_come", has_come_}};
  if (const base::Status written = base::WriteFileAtomically(file_, json.dump() + "\n"); !written)
    spdlog::error("{}", written.error().message);
}

}  // namespace trainctl::agent
