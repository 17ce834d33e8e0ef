// What ranks wrote to stdout and stderr, kept in bounded files under one folder.
//
// Layout: FOLDER/<job>/<attempt>/<rank>.log holds a rank's output from its first byte.
// <rank>.<offset>.log goes on if that file is full, or if bytes are missing because the worker lost
// them. The oldest segments are deleted so that a rank keeps at most its bound. An offset counts
// bytes of the rank's whole output, so that each byte is stored once whatever is sent again. What
// is stored is known from names and sizes alone, also after a kill in the middle of a write. Files
// without bytes, which a full disk leaves, are removed. Where bytes are missing, a line in their
// place says how many (GapMark). Nothing is fsynced: a failure of the host's power may lose the
// last seconds.
//
// A folder that can't be read says nothing of what is stored: every method tells the error then,
// writes and removes nothing, and looks again when it is called again. Errors: kUnavailable (too
// many open files), kIo.
//
// Not thread-safe: the loop's thread only.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/rank/rank_key.h"
#include "server/coordinator/log_tail.h"

namespace trainctl::coordinator {

// The line that stands where `bytes` of a log are missing: exactly that long, so that all offsets
// stay true. A gap that is too short for words is dots.
std::string GapMark(int64_t bytes);

class LogFiles {
 public:
  struct Bounds {
    int64_t rank_bytes = int64_t{64} << 20;  // kept of one rank
    int64_t segment_bytes =
        int64_t{16}
        << 20;  // of one file; a chunk is never split, so a file may be longer by one chunk
  };

  // The folder is made at the first append.
  explicit LogFiles(std::string folder) : LogFiles(std::move(folder), Bounds()) {}
  LogFiles(std::string folder, Bounds bounds) : folder_(std::move(folder)), bounds_(bounds) {}

  // Stores what of the chunk is not stored yet, and returns the offset behind the last byte stored.
  // Where somebody cut or deleted the last file, that is a gap before what is new.
  // `after`: up to where the worker told all that it has; bytes from there to offset are lost.
  // kConflict: less than that is stored, so the worker must go on from End. kExhausted: disk full.
  // kIo.
  base::Result<int64_t> Append(const job::RankKey& key, int64_t offset, std::string_view data,
                               int64_t after = 0);

  // The offset behind the last byte stored; 0 where there is none.
  base::Result<int64_t> End(const job::RankKey& key);

  struct Piece {
    std::string data;
    int64_t next_offset = 0;  // of the byte behind data
  };
  // At most max_bytes from offset on; where those bytes are no longer kept, from the first that
  // are. Empty data: the end is reached.
  base::Result<Piece> Read(const job::RankKey& key, int64_t offset, int64_t max_bytes);

  // The jobs that have a folder here.
  base::Result<std::set<base::JobId>> Jobs() const;
  // The one of them with the highest number; 0: there is none.
  base::Result<base::JobId> LastJob() const;
  // Whether anything is kept of the job's ranks.
  base::Result<bool> Has(base::JobId job) const;
  // All that is.
  base::Status Remove(base::JobId job);
  // The same in turns, of at most so many files each. kLeft: there is more. kIo, kDenied, …: some
  // of it can't be removed.
  enum class Removal { kNothingThere, kLeft, kDone };
  base::Result<Removal> RemoveSome(base::JobId job, int64_t files);

  // What is kept now, in order of offset: for LogTailOffset, which other threads may call.
  base::Result<std::vector<LogSegment>> SegmentsOf(const job::RankKey& key);

 private:
  struct Segment {
    int64_t offset = 0;
    int64_t size = 0;
    int64_t End() const { return offset + size; }
  };
  using Segments = std::vector<Segment>;  // in order of offset
  static int64_t EndOf(const Segments& segments) {
    return segments.empty() ? 0 : segments.back().End();
  }

  std::string Folder(base::JobId job) const;
  std::string Folder(const job::RankKey& key) const;
  std::string Path(const job::RankKey& key, const Segment& segment) const;
  base::Result<Segments*> Find(const job::RankKey& key);
  base::Result<Segments> Scan(const job::RankKey& key) const;
  base::Result<int64_t> Write(const job::RankKey& key, Segment* segment, std::string_view data);
  bool IsAsKnown(const job::RankKey& key, const Segments& segments) const;
  void DropOldest(const job::RankKey& key, Segments* segments);

  std::string folder_;
  Bounds bounds_;
  std::map<job::RankKey, Segments> known_;  // a cache of what the folder says
};

}  // namespace trainctl::coordinator
