// The pieces of several ranks' output as whole lines. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "client/show/output.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

struct LogLine {
  int64_t attempt = 0;
  int64_t rank = 0;
  std::string text;  // without its end
};

class LogLines {
 public:
  explicit LogLines(std::function<void(const LogLine&)> take) : take_(std::move(take)) {}

  void Add(const v1::LogChunk& chunk);
  // What has no end of line yet counts as a line.
  void Finish();

 private:
  std::function<void(const LogLine&)> take_;
  std::map<int64_t, LogLine> unfinished_;  // by rank
};

// The request goes on behind the chunk, where it is made again.
void GoOnBehind(const v1::LogChunk& chunk, v1::LogsRequest* request);

// {"attempt", "rank", "text"}
Json LogRecord(const LogLine& line);

}  // namespace trainctl::client
