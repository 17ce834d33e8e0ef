// The records of Weights & Biases' offline runs (run-ID.wandb), as wandb 0.31 reads them. Pure.
//
// A file is ":W&B", 0xBEE1 and a version (0), and then LevelDB's log: blocks of 32 KiB, in them
// pieces of records. A piece is the CRC-32 of type and data (4 bytes), the length of the data (2),
// the type (1: all of a record, 2: its first piece, 3: a middle one, 4: its last) and the data,
// all little-endian. Fewer than 7 bytes at the end of a block are zeros.
//
// A record is a Record of wandb's proto/wandb_internal.proto; what is written of it stands below.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace trainctl::client {

struct WandbRun {
  std::string id, project, group, name, notes, host;
  std::vector<std::string> tags;
  int64_t start = 0;                          // wall microseconds
  std::map<std::string, std::string> config;  // JSON by key
};

// What a run has at one step: JSON by key. wandb's own keys are _step, _timestamp and _runtime.
using WandbRow = std::map<std::string, std::string>;

// Makes the file piece by piece. Not thread-safe.
class WandbLog {
 public:
  WandbLog();

  void AddRun(const WandbRun& run);
  void AddHistory(int64_t step, const WandbRow& row);
  void AddSummary(const WandbRow& row);
  void AddExit(int code, int64_t runtime_seconds);

  // What is not taken yet.
  std::string Take();

 private:
  void Add(std::string record);
  void AddPiece(int type, std::string_view data);

  std::string text_;
  size_t in_block_ = 0;  // bytes of the block that is begun
  int64_t records_ = 0;
};

}  // namespace trainctl::client
