#include "server/store/columns.h"

#include <algorithm>
#include <array>

#include "common/base/check.h"
#include "common/rank/rank_json.h"

namespace trainctl::store {
namespace {

struct ProofName {
  core::Proof proof;
  std::string_view name;
};
constexpr std::array kProofs = {
    ProofName{core::Proof::kNone, "none"},
    ProofName{core::Proof::kExited, "exited"},
    ProofName{core::Proof::kLaunchFailed, "launch_failed"},
    ProofName{core::Proof::kHostRestarted, "host_restarted"},
    ProofName{core::Proof::kNeverStarted, "never_started"},
    ProofName{core::Proof::kRecordGone, "record_gone"},
    ProofName{core::Proof::kFenced, "fenced"},
    ProofName{core::Proof::kWorkerUnfit, "worker_unfit"},
};

}  // namespace

void ColumnWriter::Put(job::JobState state) { statement_.Put(job::Name(state)); }
void ColumnWriter::Put(job::Outcome outcome) { statement_.Put(job::Name(outcome)); }
void ColumnWriter::Put(job::DeviceKind kind) { statement_.Put(job::Name(kind)); }
void ColumnWriter::Put(const job::Labels& labels) { Put(job::LabelsText(labels)); }
void ColumnWriter::Put(const job::Links& links) { Put(job::LinksText(links)); }

void ColumnWriter::Put(job::RunPhase phase) { statement_.Put(job::Name(phase)); }

void ColumnWriter::Put(const std::optional<job::Phase>& phase) { statement_.Put(Name(phase)); }

void ColumnWriter::Put(job::Stage stage) { statement_.Put(job::Name(stage)); }

void ColumnWriter::Put(core::Trial trial) { statement_.Put(core::Name(trial)); }

void ColumnWriter::Put(core::Proof proof) {
  const auto found = std::find_if(kProofs.begin(), kProofs.end(),
                                  [&](const ProofName& row) { return row.proof == proof; });
  CHECK(found != kProofs.end()) << static_cast<int>(proof);
  statement_.Put(found->name);
}

// As the line of an outcome message, whose JSON is specified in common/rank/rank_messages.h.
void ColumnWriter::Put(const job::OomDetail& oom) {
  Put(job::ToLine(job::RankOutcome{job::Outcome::kOomGpu, "", oom}));
}

void ColumnWriter::Put(const std::optional<job::AttemptEnd>& end) {
  if (!end) return PutNulls(7);
  (*this)(end->outcome, end->message, end->rank, end->exit_code, end->signal, end->oom,
          end->last_log_lines);
}

void ColumnWriter::Put(const std::optional<core::Stop>& stop) {
  if (!stop) return PutNulls(5);
  (*this)(stop->outcome, stop->message, stop->rank, stop->grace_us, stop->at);
}

void ColumnWriter::Put(const std::optional<job::RankOutcome>& outcome) {
  if (!outcome) return PutNulls(3);
  (*this)(outcome->outcome, outcome->message, outcome->oom);
}

void ColumnWriter::PutNulls(int count) {
  for (int i = 0; i < count; ++i) statement_.PutNull();
}

void ColumnReader::Get(bool& value) {
  int64_t number = 0;
  Get(number);
  value = number != 0;
}

void ColumnReader::Get(job::JobState& state) { GetNamed(state, job::ParseJobState, "state"); }
void ColumnReader::Get(job::Outcome& outcome) { GetNamed(outcome, job::ParseOutcome, "outcome"); }
void ColumnReader::Get(job::Labels& labels) {
  const auto parse = [](std::string_view text) {
    auto read = job::ParseLabels(text);
    return read ? std::optional(std::move(*read)) : std::nullopt;
  };
  GetNamed(labels, parse, "list of labels");
}

void ColumnReader::Get(job::Links& links) { GetNamed(links, job::ParseLinks, "list of links"); }

void ColumnReader::Get(job::DeviceKind& kind) {
  GetNamed(kind, job::ParseDeviceKind, "device kind");
}

void ColumnReader::Get(job::RunPhase& phase) { GetNamed(phase, job::ParseRunPhase, "phase"); }

void ColumnReader::Get(std::optional<job::Phase>& phase) {
  using MayBeNone = std::optional<std::optional<job::Phase>>;
  const auto parse = [](std::string_view name) -> MayBeNone {
    if (name.empty()) return MayBeNone(std::in_place);
    const std::optional<job::Phase> known = job::ParsePhase(name);
    return known ? MayBeNone(known) : std::nullopt;
  };
  GetNamed(phase, parse, "phase of a step");
}

void ColumnReader::Get(job::Stage& stage) { GetNamed(stage, job::ParseStage, "stage"); }

void ColumnReader::Get(core::Trial& trial) { GetNamed(trial, core::ParseTrial, "trial"); }

void ColumnReader::Get(core::Proof& proof) {
  const auto parse = [](std::string_view name) -> std::optional<core::Proof> {
    const auto found = std::find_if(kProofs.begin(), kProofs.end(),
                                    [&](const ProofName& row) { return row.name == name; });
    return found == kProofs.end() ? std::nullopt : std::optional(found->proof);
  };
  GetNamed(proof, parse, "proof");
}

void ColumnReader::Get(job::OomDetail& oom) {
  std::string line;
  Get(line);
  base::Result<job::RankMessage> message = job::RankMessageFromLine(line);
  if (!message.ok())
    return database_.Refuse("a stored out-of-memory detail is damaged: " + message.error().message);
  const auto* outcome = std::get_if<job::RankOutcome>(&*message);
  if (outcome == nullptr || !outcome->oom)
    return database_.Refuse("a stored out-of-memory detail is damaged: " + line);
  oom = *outcome->oom;
}

void ColumnReader::Get(std::optional<job::AttemptEnd>& end) {
  if (statement_.NextIsNull()) return SkipColumns(7);
  job::AttemptEnd& value = end.emplace();
  (*this)(value.outcome, value.message, value.rank, value.exit_code, value.signal, value.oom,
          value.last_log_lines);
}

void ColumnReader::Get(std::optional<core::Stop>& stop) {
  if (statement_.NextIsNull()) return SkipColumns(5);
  core::Stop& value = stop.emplace();
  (*this)(value.outcome, value.message, value.rank, value.grace_us, value.at);
}

void ColumnReader::Get(std::optional<job::RankOutcome>& outcome) {
  if (statement_.NextIsNull()) return SkipColumns(3);
  job::RankOutcome& value = outcome.emplace();
  (*this)(value.outcome, value.message, value.oom);
}

void ColumnReader::SkipColumns(int count) {
  for (int i = 0; i < count; ++i) statement_.Skip();
}

}  // namespace trainctl::store
