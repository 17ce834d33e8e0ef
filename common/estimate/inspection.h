// What an inspection of model and data found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/job/output_folder.h"
#include "common/job/run_plan.h"
#include "common/model/model_shape.h"

namespace trainctl::job {

// Words of a row, and whether they count in the loss.
struct RowPiece {
  std::string text;  // special tokens spelled out; UTF-8; its middle is left out where it is long
  bool trained = false;
};

// A row as it is trained on.
struct ShownRow {
  int64_t tokens = 0;
  int64_t trained = 0;           // of these
  std::vector<RowPiece> pieces;  // in the row's order; the first of many
  std::string note;              // what its chat template writes of itself; mostly empty
};

// What `trainworker --inspect` prints (memory_estimate.h has its JSON), before anything runs.
struct Inspection {
  ModelShape model;
  int64_t rows = 0;                    // of the data, after max_rows
  int64_t validation_rows = 0;         // of data.val_path or data.val_split, beside those
  int64_t sampled_rows = 0;            // from which the numbers are reckoned; 0: from all
  int64_t longest_row = 0;             // that trains: tokens, after truncation to max_seq_length
  int64_t longest_validation_row = 0;  // 0: longest_row counts it too
  int64_t total_tokens = 0;            // of those rows
  int64_t full_rows = 0;               // as long as max_seq_length: what goes on is cut there
  int64_t untrained_rows = 0;          // without a token that counts in the loss
  int64_t packed_sequences = 0;        // that train.packing makes of the training rows; 0: unknown
  int64_t longest_sequence = 0;        // tokens, of these
  int64_t decoded_pictures = 0;        // from here and there
  int64_t broken_pictures = 0;         // of these, whose rows data.on_broken_picture leaves out
  std::string tokenizer_digest;        // equal digests are equal tokens of a text; empty: of none
  std::string data_digest;             // of the data file's bytes: equal digests are equal data
  std::optional<OutputFolder> output;  // of a job that writes there
  int64_t resume_step = 0;             // of the checkpoint that the job goes on from; 0: of none
  std::optional<ShownRow> first_row;   // of the file; none where the model has no tokenizer
  std::string model_revision;          // of a model in the Hugging Face cache: its commit
  std::string waited_for;              // who was making the same tokens; empty: nobody
  std::string missing_weights;         // why a job that starts from weights can't; empty: it can
};

inline CountedRows CountedOf(const Inspection& inspection) {
  return {.rows = inspection.rows,
          .packed_sequences = inspection.packed_sequences,
          .validation_rows = inspection.validation_rows,
          .is_estimate = inspection.sampled_rows > 0};
}

}  // namespace trainctl::job
