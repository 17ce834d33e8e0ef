// A job in a real store, and the points that a test adds to it.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "server/store/sqlite_store.h"

namespace trainctl::web {

class StoredJob {
 public:
  // Its folder is made in `parent`, and goes with it. The job is j1, and its first attempt begins.
  explicit StoredJob(const std::string& parent = "/tmp") {
    std::string pattern = parent + "/stored-job-XXXXXX";
    CHECK(mkdtemp(pattern.data()) != nullptr) << pattern;
    folder_ = pattern;
    store_ = store::OpenSqliteStore(folder_).value();
    core::JobRow row;
    row.id = {1};
    row.request_id = "request";
    row.spec.name = "tiny";
    store::Batch batch;
    batch.rows = {core::SubmissionRow{row.request_id, {}, 1}, row};
    Apply(batch);
    Begin(1);
    reader_ = store::OpenSqliteReader(folder_).value();
  }
  ~StoredJob() {
    reader_.reset();
    store_.reset();
    std::filesystem::remove_all(folder_);
  }
  StoredJob(const StoredJob&) = delete;
  StoredJob& operator=(const StoredJob&) = delete;

  // Points that are added from now on are of this attempt.
  void Begin(int64_t attempt) {
    attempt_ = attempt;
    core::JobStatus status;
    status.attempt = attempt;
    store::Batch batch;
    batch.rows.push_back(core::UpdateJob{{1}, status});
    Apply(batch);
  }

  // All at once, as that rank's report.
  void Add(std::vector<job::MetricPoint> points, int64_t rank = 0) {
    store::Batch batch;
    batch.rows.push_back(core::MetricRows{{{1}, attempt_, rank}, std::move(points)});
    Apply(batch);
  }

  // As after a restart of its host: nothing of the store is in memory, nor in the page cache.
  void Restart() {
    reader_.reset();
    store_.reset();
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      const int file = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
      CHECK(file >= 0) << entry.path();
      fsync(file);
      posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
      close(file);
    }
    store_ = store::OpenSqliteStore(folder_).value();
    reader_ = store::OpenSqliteReader(folder_).value();
  }

  store::Reader& reader() { return *reader_; }

 private:
  void Apply(const store::Batch& batch) {
    const base::Status status = store_->Apply(batch);
    CHECK(status.ok()) << status.error().message;
  }

  std::string folder_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<store::Reader> reader_;
  int64_t attempt_ = 0;
};

}  // namespace trainctl::web
