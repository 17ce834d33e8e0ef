// The last lines of a job's log, kept up to date piece by piece. Not thread-safe.
#pragma once

#include <deque>
#include <string>

#include "client/api.h"
#include "client/show/log_lines.h"

namespace trainctl::client {

class LogTail {
 public:
  explicit LogTail(std::string job);

  const std::string& job() const { return job_; }
  // Reads what is new. `view` is the job's. Errors: those of Api::Logs.
  base::Status Read(Api& api, const v1::JobView& view);

  // One line each, without what a terminal would obey; behind its rank where there are several.
  const std::deque<std::string>& lines() const { return lines_; }

 private:
  void Take(const LogLine& line);

  std::string job_;
  int64_t attempt_ = 0;
  bool shows_ranks_ = false;
  v1::LogsRequest next_;
  LogLines split_;
  std::deque<std::string> lines_;
};

}  // namespace trainctl::client
