// A site of two CPU slots to submit to, and a job file for it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "common/base/file.h"
#include "common/estimate/memory_estimate.h"
#include "common/job/job_json.h"
#include "tests/client/client_test.h"

namespace trainctl::client {

inline constexpr const char* kJob = R"({"version": 1, "name": "tiny",
 "model": {"path": "/models/tiny", "init": "random"},
 "data": {"path": "/data/rows.json", "val_split_fraction": 0.1},
 "train": {"global_batch_size": 8, "micro_batch_size": 2, "max_seq_length": 128}})";

inline constexpr const char* kLab =
    R"({"base": {"version": 1, "model": {"path": "/models/tiny"}, "data": {"path": "/data/rows.json"},
 "train": {"global_batch_size": 8, "micro_batch_size": 2}},
 "experiments": [{"name": "micro-2", "set": {}}, {"name": "micro-4", "set": {"train.micro_batch_size": 4}}]})";

class SubmitTest : public ClientTest {
 protected:
  SubmitTest() {
    char folder[] = "/tmp/trainctl-submit-XXXXXX";
    folder_ = mkdtemp(folder);
    coordinator_.workers = {CpuWorker("alpha/0", "READY"), CpuWorker("alpha/1", "READY")};
    coordinator_.inspection = InspectionOf(100);
  }
  ~SubmitTest() override { std::filesystem::remove_all(folder_); }

  std::string File(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    EXPECT_TRUE(base::WriteFileAtomically(path, text).ok());
    return path;
  }

  static job::Inspection SmallModel(int64_t rows) {
    job::Inspection inspection;
    inspection.model.layers = 2;
    inspection.model.hidden = 64;
    inspection.model.intermediate = 128;
    inspection.model.heads = inspection.model.kv_heads = 4;
    inspection.model.head_dim = 16;
    inspection.model.vocab = 512;
    inspection.model.max_positions = 2048;
    inspection.rows = rows;
    inspection.longest_row = 100;
    inspection.total_tokens = 50 * rows;
    inspection.data_digest = "d1";
    return inspection;
  }

  static v1::InspectResponse InspectionOf(int64_t rows) {
    v1::InspectResponse response;
    response.set_inspection_json(job::ToJson(SmallModel(rows)));
    return response;
  }

  // Without the name of the temporary folder.
  std::string Portable(std::string text) const {
    for (size_t at = text.find(folder_); at != std::string::npos; at = text.find(folder_))
      text.replace(at, folder_.size(), "FOLDER");
    return text;
  }

  job::JobSpec SubmittedJob(int i = 0) const {
    const base::Result<job::JobSpec> job =
        job::FromJson(coordinator_.submissions.back().jobs(i).job_json());
    EXPECT_TRUE(job.ok());
    return *job;
  }

  std::string folder_;
};

}  // namespace trainctl::client
