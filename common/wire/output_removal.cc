#include "common/wire/output_removal.h"

#include "proto/trainctl.pb.h"

namespace trainctl::wire {

v1::OutputsAsk ToWire(const job::RemovalQuestion& question) {
  v1::OutputsAsk message;
  message.set_path(question.path);
  message.set_site(question.site);
  message.set_job(question.job);
  for (const job::SavedPlace& place : question.saved) {
    v1::SavedPlace& saved = *message.add_saved();
    saved.set_path(place.path);
    saved.set_record(place.record);
  }
  message.set_look_only(question.look_only);
  message.set_owner(question.owner);
  return message;
}

job::RemovalQuestion FromWire(const v1::OutputsAsk& message) {
  job::RemovalQuestion question{.path = message.path(),
                                .site = message.site(),
                                .job = message.job(),
                                .look_only = message.look_only(),
                                .owner = message.owner()};
  for (const v1::SavedPlace& saved : message.saved())
    question.saved.push_back({saved.path(), saved.record()});
  return question;
}

v1::HostOutputs ToWire(const job::RemovalAnswer& answer) {
  v1::HostOutputs message;
  message.set_files(answer.files);
  message.set_bytes(answer.bytes);
  for (const job::LeftPath& left : answer.left) {
    v1::LeftPath& path = *message.add_left();
    path.set_path(left.path);
    path.set_why(left.why);
  }
  return message;
}

base::Result<job::RemovalAnswer> FromWire(const v1::HostOutputs& message) {
  if (message.files() < 0 || message.bytes() < 0)
    return base::Error{base::Code::kInvalid, "outputs: less than no files or bytes"};
  if (static_cast<size_t>(message.left_size()) > job::RemovalAnswer::kMaxLeft) {
    return base::Error{base::Code::kInvalid,
                       "outputs.left: " + std::to_string(message.left_size()) +
                           " paths: more than may be in one answer"};
  }
  job::RemovalAnswer answer{message.files(), message.bytes(), {}};
  for (const v1::LeftPath& left : message.left()) answer.left.push_back({left.path(), left.why()});
  return answer;
}

}  // namespace trainctl::wire
