#include "worker/agent/relay.h"

#include <algorithm>
#include <utility>

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
  while (const std::optional<shim::SpoolLine> line = kept.Next()) NoteStep(line->text);
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

std::optional<v1::WorkerMessage> Relay::Next(base::WallMicros now) {
  const bool message_room = sent_sequence_ - stored_sequence_ < kMessageWindow;
  const bool log_room = sent_log_bytes_ - stored_log_bytes_ < kLogWindowBytes;
  std::optional<v1::WorkerMessage> next;
  if (message_room) next = NextMessage(now);
  if (!next && message_room && end_overtakes_log_) next = End(now);
  if (!next && log_room) next = NextLog();
  if (!next && message_room && log_room) next = End(now);
  return next;
}

bool Relay::log_stored() const { return shim::ReadLog(folder_, stored_log_bytes_, 1).data.empty(); }

std::optional<v1::WorkerMessage> Relay::NextMessage(base::WallMicros now) {
  const std::optional<shim::SpoolLine> line = reader_.Next();
  if (!line) return std::nullopt;
  sent_sequence_ = line->sequence;
  NoteStep(line->text);
  v1::WorkerMessage message;
  *message.mutable_report() = wire::ToWire(key_, line->sequence, line->text);
  if (const base::WallMicros heard_at = shim::HeardAt(line->text); heard_at > 0)
    message.mutable_report()->set_age_us(std::max<int64_t>(0, now - heard_at));
  return message;
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

std::optional<v1::WorkerMessage> Relay::End(base::WallMicros now) {
  const int64_t sequence = reader_.next_sequence();
  if (!end_ || end_sent_ || sequence <= stored_sequence_) return std::nullopt;
  end_sent_ = true;
  sent_sequence_ = sequence;
  if (auto* exit = std::get_if<job::RankExit>(&*end_); exit != nullptr && ended_at_ > 0)
    exit->age_us = std::max<int64_t>(0, now - ended_at_);
  v1::WorkerMessage message;
  *message.mutable_report() = wire::ToWire(job::RankReport{key_, sequence, *end_});
  return message;
}

// All that is read here of what a rank says: samples need the step.
void Relay::NoteStep(const std::string& line) {
  if (!shim::HasType(line, "progress")) return;
  const auto step = static_cast<int64_t>(shim::NumberField(line, "step").value_or(0));
  const auto steps = static_cast<int64_t>(shim::NumberField(line, "steps").value_or(0));
  step_ = std::max<int64_t>(0, steps > 0 ? std::min(step, steps - 1) : step);
}

}  // namespace trainctl::agent
