// The files that a shim leaves in a rank's folder, as a worker that comes back finds them. The
// input is a spool's segment; behind a zero a log's.
#include <string>

#include "common/base/check.h"
#include "tests/fuzz/halves.h"
#include "tests/fuzz/scratch_file.h"
#include "tests/fuzz/targets.h"
#include "worker/shim/log_file.h"
#include "worker/shim/segments.h"
#include "worker/shim/spool.h"

namespace trainctl::fuzz {

bool ReadRankFolder(std::string_view bytes) {
  static const ScratchFolder folder;
  const auto [spool, log] = Halves(bytes);
  folder.Write("spool.jsonl.000000000000001", spool);
  folder.Write("rank.log.000000000000000", log);
  shim::SpoolReader reader(folder.path());
  reader.Seek(2);
  size_t lines = 0;
  for (auto line = reader.Next(); line; line = reader.Next()) {
    CHECK(line->text.find('\n') == std::string::npos);
    ++lines;
  }
  int64_t offset = 0;
  for (auto chunk = shim::ReadLog(folder.path(), offset, 64); !chunk.data.empty();
       chunk = shim::ReadLog(folder.path(), offset, 64)) {
    CHECK(chunk.offset == offset) << chunk.offset;
    offset += static_cast<int64_t>(chunk.data.size());
  }
  CHECK(offset == static_cast<int64_t>(log.size())) << offset;
  CHECK(shim::LogTail(folder.path(), 3, 128).size() <= 128);
  return lines > 0;
}

}  // namespace trainctl::fuzz
