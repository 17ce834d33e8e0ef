#include "worker/agent/kept_deadline.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/base/file.h"
#include "worker/shim/deadline_file.h"

namespace trainctl::agent {
namespace {

std::string Text(const nlohmann::json& json, const char* key) {
  return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : "";
}

}  // namespace

KeptDeadline::KeptDeadline(std::string folder, const base::Clock& clock)
    : folder_(std::move(folder)), clock_(clock) {}

void KeptDeadline::Read() {
  const base::Result<shim::DeadlineFile> file = shim::ReadDeadline(folder_, clock_);
  if (!file && file.error().code == base::Code::kNotFound) return;
  const nlohmann::json json = file ? nlohmann::json::parse(file->text, nullptr, false) : "";
  if (!json.is_object()) {
    fault_ =
        file ? shim::DeadlinePath(folder_) + " is damaged: it is no JSON" : file.error().message;
    return spdlog::error("{}: the coordinator's next word counts, or what the shim read before",
                         fault_);
  }
  at_ = file->at;
  job::Deadline read{.grace_us = file->grace_us};
  read.outcome = job::ParseOutcome(Text(json, "outcome")).value_or(read.outcome);
  if (!job::IsOfDeadline(read.outcome)) read.outcome = job::Outcome::kLeaseEnded;
  read.message = Text(json, "message");
  has_come_ = json.contains("has_come") && json["has_come"] == true;
  deadline_ = std::move(read);
}

void KeptDeadline::HasCome() {
  has_come_ = is_told_ = true;
  if (!deadline_ && !fault_.empty()) deadline_ = job::Deadline{.message = fault_};
}

void KeptDeadline::Set(const std::optional<job::Deadline>& deadline) {
  if (has_come_) return;
  deadline_ = deadline;
  if (deadline_) {
    at_ = clock_.Steady() + deadline_->in_us;
    return Write();
  }
  std::error_code error;
  const std::string path = shim::DeadlinePath(folder_);
  std::filesystem::remove(path, error);
  if (error) spdlog::error("{} can't be removed: {}", path, error.message());
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
                               {"steady_at", at_},
                               {"grace_us", deadline_->grace_us},
                               {"outcome", std::string(job::Name(deadline_->outcome))},
                               {"message", deadline_->message},
                               {"has_come", has_come_}};
  const std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (const base::Status written =
          base::WriteFileAtomically(shim::DeadlinePath(folder_), text + "\n");
      !written)
    spdlog::error("{}", written.error().message);
}

}  // namespace trainctl::agent
