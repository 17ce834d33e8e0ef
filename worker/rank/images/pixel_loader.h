// The pictures of a data set's rows, decoded on threads of its own ahead of the step that takes
// them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "common/base/result.h"
#include "worker/rank/images/picture_file.h"
#include "worker/rank/images/pixel_cache.h"

namespace trainctl::images {

struct LoaderOptions {
  int64_t side = 224;  // of the squares
  int threads = 4;     // that decode
  int64_t most_cached_bytes = int64_t{2} << 30;
  int64_t most_ahead = 512;  // pictures that are asked for and not taken yet
};

struct LoaderCounts {
  int64_t decoded = 0;
  int64_t cached = 0;  // were found in the cache
};

// A row's picture; called from all threads. CHECKs that there is such a row.
using FileOfRow = std::function<PictureFile(int64_t row)>;

// Ahead is called from one thread. Take is thread-safe for rows that were asked for as often.
class PixelLoader {
 public:
  using Loaded = base::Result<std::shared_ptr<const Pixels>>;

  PixelLoader(FileOfRow file_of, const LoaderOptions& options);
  // Waits for the pictures that are being decoded; those that wait are dropped.
  ~PixelLoader();
  PixelLoader(const PixelLoader&) = delete;

  // These rows will be taken, in this order. What is beyond most_ahead is left to Take.
  void Ahead(std::span<const int64_t> rows);

  // Waits for the row's picture; decodes it here if it was not asked for ahead. Errors: those of
  // DecodeFile, "row 12: <name>: …" (rows from 0); kExhausted: there was no memory for it.
  Loaded Take(int64_t row);

  // The same of several rows, normalized one after another: [rows, 3, side, side] in fp32.
  base::Status TakeNormalized(std::span<const int64_t> rows, std::span<float> out);

  LoaderCounts counts() const;

 private:
  struct Asked {
    std::optional<Loaded> loaded;  // none: not yet
    int64_t times = 0;             // it will be taken
  };

  void Work();
  Loaded Load(int64_t row);
  base::Result<std::shared_ptr<const Pixels>> LoadFile(const PictureFile& file);

  const FileOfRow file_of_;
  const int64_t side_;
  const int64_t most_ahead_;
  PixelCache cache_;
  mutable std::mutex mutex_;
  std::condition_variable work_, done_;
  bool stopping_ = false;
  std::deque<int64_t> waiting_;     // rows that no thread has begun
  std::map<int64_t, Asked> asked_;  // by row
  LoaderCounts counts_;
  std::vector<std::thread> threads_;  // last: they use all of the above
};

}  // namespace trainctl::images
