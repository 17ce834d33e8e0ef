// A piece of what a rank wrote, for a page that asks again and again. The loop's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/record/document.h"
#include "server/coordinator/coordinator.h"
#include "server/store/reader.h"
#include "server/web/target.h"

namespace trainctl::web {

struct LogQuestion {
  std::string job;
  int64_t rank = 0;
  int64_t attempt = 0;            // 0: the latest
  std::optional<int64_t> offset;  // unset: the end of what there is
};
base::Result<LogQuestion> LogQuestionOf(const Target& target);

struct LogExcerpt {
  int64_t attempt = 0;  // 0: the job has had none
  int64_t rank = 0;
  int64_t ranks = 0;
  int64_t offset = 0;       // of the first byte of `data`
  int64_t next_offset = 0;  // to ask for next
  std::string data;
  bool ended = false;               // nothing more comes of this attempt
  base::WallMicros removed_at = 0;  // by the site's policy; 0: it was not
};
// kNotFound: the job has no such rank or attempt. kIo.
base::Result<LogExcerpt> ReadLogExcerpt(coordinator::Coordinator& coordinator,
                                        const store::StoredJob& job, const LogQuestion& question);

// {"attempt", "rank", "ranks", "offset", "next_offset", "text", "ended", "removed_at"}.
record::Json LogDocument(const LogExcerpt& piece);

}  // namespace trainctl::web
