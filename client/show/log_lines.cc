#include "client/show/log_lines.h"

namespace trainctl::client {

void LogLines::Add(const v1::LogChunk& chunk) {
  LogLine& line = unfinished_[chunk.rank()];
  if (line.attempt != chunk.attempt() && !line.text.empty()) {
    take_(line);
    line.text.clear();
  }
  line.rank = chunk.rank();
  line.attempt = chunk.attempt();
  const std::string text = line.text + chunk.data();
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    line.text = text.substr(begin, end - begin);
    take_(line);
    begin = end + 1;
  }
  line.text = text.substr(begin);
}

void LogLines::Finish() {
  for (auto& [rank, line] : unfinished_) {
    if (!line.text.empty()) take_(line);
    line.text.clear();
  }
}

void GoOnBehind(const v1::LogChunk& chunk, v1::LogsRequest* request) {
  if (!request->from().empty() && request->from(0).attempt() != chunk.attempt())
    request->clear_from();
  v1::LogPosition* behind = nullptr;
  for (v1::LogPosition& position : *request->mutable_from()) {
    if (position.rank() == chunk.rank()) behind = &position;
  }
  if (behind == nullptr) behind = request->add_from();
  behind->set_attempt(chunk.attempt());
  behind->set_rank(chunk.rank());
  behind->set_offset(chunk.offset() + static_cast<int64_t>(chunk.data().size()));
}

Json LogRecord(const LogLine& line) {
  return {{"attempt", line.attempt}, {"rank", line.rank}, {"text", line.text}};
}

}  // namespace trainctl::client
