#include "worker/agent/relay.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "common/rank/rank_json.h"
#include "common/wire/rank_key.h"
#include "common/wire/rank_report.h"
#include "proto/trainctl.pb.h"
#include "worker/shim/line_fields.h"
#include "worker/shim/log_file.h"

namespace trainctl::agent {

Relay::Relay(job::RankKey key, std::string folder)
    : key_(key), folder_(std::move(folder)), reader_(folder_) {
  shim::SpoolReader kept(
      folder_);  // of an adopted rank: where it is, before anything is relayed again
  kept.Seek(1);
  while (const std::optional<shim::SpoolLine> line = kept.Next()) {
    if (shim::HasType(line->text, "progress")) Read(*line);
  }
}

void Relay::Resume(int64_t stored_sequence, int64_t stored_log_bytes) {
  stored_sequence_ = sent_sequence_ = stored_sequence;
  stored_log_bytes_ = sent_log_bytes_ = stored_log_bytes;
  end_sent_ = false;
  reader_.Seek(stored_sequence + 1);
}

void Relay::Acknowledge(int64_t sequence) {
  stored_sequence_ = std::max(stored_sequence_, sequence);
}

void Relay::AcknowledgeLog(int64_t offset, bool again) {
  stored_log_bytes_ = std::max(stored_log_bytes_, offset);
  sent_log_bytes_ = again ? stored_log_bytes_ : std::max(sent_log_bytes_, stored_log_bytes_);
}

void Relay::SendLogAgainIfStalled(base::SteadyMicros now) {
  const bool goes_on = sent_log_bytes_ == stored_log_bytes_ || stored_log_bytes_ != waiting_at_;
  if (!goes_on && now - waiting_since_ < kLogPatienceMicros) return;
  if (!goes_on) sent_log_bytes_ = stored_log_bytes_;
  waiting_at_ = stored_log_bytes_;
  waiting_since_ = now;
}

std::optional<v1::WorkerMessage> Relay::Next() {
  const bool message_room = sent_sequence_ - stored_sequence_ < kMessageWindow;
  const bool log_room = sent_log_bytes_ - stored_log_bytes_ < kLogWindowBytes;
  std::optional<v1::WorkerMessage> next;
  if (message_room) next = NextMessage();
  if (!next && message_room && end_overtakes_log_) next = End();
  if (!next && log_room) next = NextLog();
  if (!next && message_room && log_room) next = End();
  return next;
}

bool Relay::log_stored() const { return shim::ReadLog(folder_, stored_log_bytes_, 1).data.empty(); }

std::optional<v1::WorkerMessage> Relay::NextMessage() {
  const std::optional<shim::SpoolLine> line = reader_.Next();
  if (!line) return std::nullopt;
  sent_sequence_ = line->sequence;
  return Report(line->sequence, Read(*line));
}

std::optional<v1::WorkerMessage> Relay::NextLog() {
  shim::LogChunk chunk = shim::ReadLog(folder_, sent_log_bytes_, kLogChunkBytes);
  if (chunk.data.empty()) return std::nullopt;
  v1::WorkerMessage message;
  wire::WriteRankKey(key_, message.mutable_log());
  message.mutable_log()->set_after(sent_log_bytes_);
  sent_log_bytes_ = chunk.offset + static_cast<int64_t>(chunk.data.size());
  message.mutable_log()->set_offset(chunk.offset);
  message.mutable_log()->set_data(std::move(chunk.data));
  return message;
}

std::optional<v1::WorkerMessage> Relay::End() {
  const int64_t sequence = reader_.next_sequence();
  if (!end_ || end_sent_ || sequence <= stored_sequence_) return std::nullopt;
  end_sent_ = true;
  sent_sequence_ = sequence;
  return Report(sequence, *end_);
}

v1::WorkerMessage Relay::Report(int64_t sequence, job::ReportBody body) {
  v1::WorkerMessage message;
  *message.mutable_report() = wire::ToWire(job::RankReport{key_, sequence, std::move(body)});
  return message;
}

// A line that is no message of a rank still has a number: it goes as metrics without points, so
// that the numbers have no gap.
job::ReportBody Relay::Read(const shim::SpoolLine& line) {
  if (shim::HasType(line.text, "dropped")) {
    const auto count = static_cast<int64_t>(shim::NumberField(line.text, "messages").value_or(0));
    spdlog::warn(
        "{}: {} metrics and progress messages were dropped: the coordinator was away for too long",
        job::ToString(key_), count);
    return job::RankMetrics{};
  }
  base::Result<job::RankMessage> message = job::RankMessageFromLine(line.text);
  if (!message) {
    spdlog::warn("{}: message {} is passed over: {}", job::ToString(key_), line.sequence,
                 message.error().message);
    return job::RankMetrics{};
  }
  if (const auto* progress = std::get_if<job::RankProgress>(&*message)) {
    step_ = std::max<int64_t>(
        0, progress->steps > 0 ? std::min(progress->step, progress->steps - 1) : progress->step);
  }
  return job::ToBody(std::move(*message));
}

}  // namespace trainctl::agent
