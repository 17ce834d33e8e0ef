// trainctl advise: what is printed, what is asked, and what a trial submits. A site of two GPUs,
// and a job that is asked about.
#pragma once

#include <stdlib.h>

#include <filesystem>

#include "client/exit_code.h"
#include "common/base/file.h"
#include "common/estimate/memory_estimate.h"
#include "common/job/job_json.h"
#include "tests/client/client_test.h"

namespace trainctl::client {

inline constexpr const char* kAdvisedJob = R"({"version": 1, "name": "tiny",
 "model": {"path": "/models/tiny", "init": "random"}, "precision": "bf16-true",
 "data": {"path": "/data/rows.json", "val_split_fraction": 0.1},
 "train": {"global_batch_size": 8, "micro_batch_size": 2, "max_seq_length": 128},
 "output": {"dir": "/out", "save": "final"}})";

class AdviseTest : public ClientTest {
 protected:
  AdviseTest() {
    char folder[] = "/tmp/trainctl-advise-XXXXXX";
    folder_ = mkdtemp(folder);
    EXPECT_TRUE(base::WriteFileAtomically(File(), kAdvisedJob).ok());
    for (const char* name : {"alpha/0", "alpha/1"}) {
      v1::WorkerView worker = CpuWorker(name, "READY");
      v1::Device& device = *worker.mutable_device();
      device.set_kind("cuda");
      device.set_name("NVIDIA H200");
      device.set_memory_bytes(int64_t{139} << 30);
      device.set_compute_capability("9.0");
      coordinator_.workers.push_back(worker);
    }
    job::Inspection inspection;
    inspection.model = {.layers = 2,
                        .hidden = 64,
                        .intermediate = 128,
                        .heads = 4,
                        .kv_heads = 4,
                        .head_dim = 16,
                        .vocab = 512,
                        .max_positions = 2048};
    inspection.rows = 1000;
    inspection.longest_row = 100;
    inspection.total_tokens = 50'000;
    inspection.data_digest = "d1";
    v1::InspectResponse response;
    response.set_inspection_json(job::ToJson(inspection));
    coordinator_.inspection = response;
  }
  ~AdviseTest() override { std::filesystem::remove_all(folder_); }

  std::string File() const { return folder_ + "/job.json"; }

  Json Ways(std::vector<std::string> words) {
    words.insert(words.end(), {"-o", "json"});
    const Ended ended = Trainctl(words);
    EXPECT_EQ(ended.code, kExitOk) << ended.err;
    return Json::parse(ended.out);
  }

  std::string folder_;
};

}  // namespace trainctl::client
