// TensorBoard's event files: what `tensorboard --logdir` reads. Pure.
//
// A file is a row of TFRecords: the length of the data (8 bytes), its masked CRC-32C (4), the data,
// their masked CRC-32C (4), all little-endian. Data are a protobuf Event of tensorflow/core/util:
// wall_time (1, double), step (2, int64), file_version (3, string), summary (5) or session_log (7).
// A Summary holds values (1), each with its tag (1, string) and simple_value (2, float). A
// SessionLog has its status (1, START = 1).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainctl::track {

// The record that begins a file, at this time in wall microseconds.
std::string EventFileHead(int64_t time);

// A run goes on with this step: what other files of its folder say of it and later ones is void.
std::string SessionStart(int64_t step, int64_t time);

// The tag of a metric: "loss"; of a rank "gpu_power_watts/rank_0", of a phase
// "memory_params_bytes/rank_0/after_forward". Other programs' exports name their curves so too.
std::string CurveName(const std::string& metric, std::optional<int64_t> rank,
                      std::string_view phase);

// One point of the curve that `tag` names.
std::string ScalarEvent(const std::string& tag, int64_t step, double value, int64_t time);

}  // namespace trainctl::track
