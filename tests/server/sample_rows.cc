#include "tests/server/sample_rows.h"

namespace trainctl::store {

job::Prediction SamplePrediction(int64_t peak_bytes) {
  job::Prediction prediction;
  prediction.memory.peak_allocated = peak_bytes;
  return prediction;
}

core::JobRow SampleJob(int64_t id, const std::string& name, const std::string& request_id,
                       int64_t group) {
  core::JobRow row;
  row.id = {id};
  row.group = {group};
  row.request_id = request_id;
  row.spec.name = name;
  row.spec.devices = 2;
  row.spec.model.path = "/models/tiny";
  row.spec.data.path = "/data/rows.json";
  row.spec.train.micro_batch_size = 4;
  row.inspection = job::Inspection{.rows = 7};
  row.prediction = SamplePrediction(8);
  row.submitted_at = 100 + id;
  row.auto_micro_batch = 8;
  row.user = "ann";
  return row;
}

job::AttemptEnd SampleEnd() {
  job::OomDetail oom;
  oom.rank = 1;
  oom.phase = {job::Work::kBackward};
  oom.requested_bytes = 1 << 20;
  oom.limit_bytes = 1 << 30;
  oom.memory = {1, 2, 3, 4, 5, 6, 7, 8};
  return {job::Outcome::kOomGpu, "rank 1: asked \"too\" much\n", 1, 3, 9, oom, "last\nlines"};
}

core::RankRow SampleRank(const job::RankKey& key) {
  core::RankRow row;
  row.key = key;
  row.worker = "a/" + std::to_string(key.rank);
  row.host = "a";
  row.device_uuid = "GPU-1";
  row.device_name = "H200";
  row.confirmed = true;
  row.started = {4711, "abc", "2.11", "2.27", "580.1", "NVIDIA H200"};
  row.phase = {job::RunPhase::kLoading, 5, 10};
  row.progress = {6, 2, 12, job::Stage::kCollective, 1.5, 1 << 20};
  row.outcome = job::RankOutcome{job::Outcome::kOomGpu, "out of memory", SampleEnd().oom};
  row.proof = core::Proof::kExited;
  row.exit = {.exit_code = 1, .signal = 9, .oom_killed = true, .last_log_lines = "the end"};
  row.failure = "no such path";
  row.ended_by_stop = true;
  row.ended_at = 999;
  row.held_devices = 4;
  return row;
}

core::WorkerRow SampleWorker(const std::string& name) {
  core::WorkerRow row{name, "a", "boot-1", "0.1.0", "10.0.0.1", {}, 77};
  row.identity = "0123456789abcdef";
  row.device = {
      job::DeviceKind::kCuda,         3, "GPU-1", "H200", int64_t{141} << 30, "9.0", "580.1", 8,
      {{"rack", "r1"}, {"zone", "b"}}};
  row.device.links = {{"GPU-2", job::LinkKind::kNvlink}, {"GPU-3", job::LinkKind::kNumaNode}};
  return row;
}

Batch SubmitBatch(int64_t id, const std::string& name) {
  const std::string request_id = "request-" + std::to_string(id);
  Batch batch;
  batch.rows.push_back(core::SubmissionRow{request_id, {}, 100});
  batch.rows.push_back(SampleJob(id, name, request_id));
  batch.rows.push_back(core::UpdateJob{{id}, {}});
  return batch;
}

Batch EveryRow() {
  const base::JobId id{1};
  core::JobStatus status;
  status.state = job::JobState::kStarting;
  status.attempt = 2;
  status.restarts = 1;
  status.cancel_requested = true;
  status.proven_by = 2;
  status.started_at = 150;
  status.progress = {6, 12, 1.25, 1 << 21};
  const core::Stop stop{job::Outcome::kHang, "no progress", 1, 1'000'000, 160};
  Batch batch;
  batch.rows = {core::SubmissionRow{"request-1", {1}, 100},
                core::GroupRow{{1}, "lab", 100, 2},
                SampleJob(1, "first", "request-1", 1),
                core::UpdateJob{id, status},
                core::AttemptRow{id, 1, 110, 120, "blob-1", std::nullopt, SampleEnd(), 8,
                                 core::Trial::kFailed, 11, "boot-1"},
                core::AttemptRow{id, 2, 130, 0, "blob-2", stop, std::nullopt, 4,
                                 core::Trial::kPassed, 13, "boot-1"},
                SampleRank({id, 1, 0}),
                SampleRank({id, 2, 0}),
                SampleRank({id, 2, 1}),
                SampleWorker("a/0"),
                SampleWorker("a/1"),
                core::DrainRow{"a/1", "ann", "a fan is broken", 165},
                core::DrainRow{"b", "", "", 166},
                core::RemoveDrain{"b"},
                core::FaultRow{"a/0", "GPU-a", {79, 167}, false},
                core::FaultRow{"a/0", "GPU-a", {31, 168}, false},
                core::FaultRow{"a/0", "GPU-a", {79, 169}, true},
                core::FaultRow{"a/1", "GPU-b", {94, 170}, false},
                core::RemoveFault{"a/0", 31},
                core::SlowRow{"a/0", "GPU-a", {id, 2, 0}, 1.4, 171},
                core::SlowRow{"a/1", "GPU-b", {id, 2, 1}, 1.5, 172},
                core::SlowRow{"a/1", "GPU-b", {id, 2, 1}, 1.6, 173},
                core::RemoveSlow{"a/0"},
                core::LeaseRow{1, "lab", "ann", "lease-1", {"a/0", "a/1"}, 200, 300, 167, 0},
                core::LeaseRow{2, "early", "bob", "lease-2", {"a/0"}, 180, 190, 168, 0},
                core::LeaseRow{1, "lab", "ann", "lease-1", {"a/0", "a/1"}, 200, 350, 167, 0},
                core::LeaseRow{2, "early", "bob", "lease-2", {"a/0"}, 180, 190, 168, 190},
                core::EventRow{id, 101, "submitted"},
                core::EventRow{id, 102, "placed"},
                core::MetricRows{{id, 2, 0}, {{"loss", 0, std::nullopt, std::nullopt, 2.5, 170}}},
                core::RewindRow{id, 2, 0},
                core::AckRow{{id, 2, 1}, 41},
                core::ArtefactRow{{id, 2, 0}, {"final", "/out", 4096}, 170},
                core::ContinuationRow{id, {4, 0, "Once", " upon"}}};
  batch.audit = {{105, "ann", "submit", "g1"}, {106, "bob", "cancel", "j1"}};
  return batch;
}

}  // namespace trainctl::store
