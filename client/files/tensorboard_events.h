// TensorBoard's event files: what `tensorboard --logdir` reads. Pure.
//
// A file is a row of TFRecords: the length of the data (8 bytes), its masked CRC-32C (4), the data,
// their masked CRC-32C (4), all little-endian. Data are a protobuf Event of tensorflow/core/util:
// wall_time (1, double), step (2, int64), file_version (3, string) or summary (5). A Summary holds
// values (1), each with its tag (1, string) and simple_value (2, float).
#pragma once

#include <cstdint>
#include <string>

namespace trainctl::client {

// The record that begins a file, at this time in wall microseconds.
std::string EventFileHead(int64_t time);

// One point of the curve that `tag` names.
std::string ScalarEvent(const std::string& tag, int64_t step, double value, int64_t time);

}  // namespace trainctl::client
