// A data file as rows of token ids, split into training and validation rows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/job/job.h"
#include "common/model/model_shape.h"
#include "worker/rank/data/broken_pictures.h"
#include "worker/rank/data/cache_turn.h"
#include "worker/rank/data/kept_list.h"
#include "worker/rank/data/masked_tokens.h"
#include "worker/rank/data/picture_list.h"
#include "worker/rank/data/sample_size.h"
#include "worker/rank/data/token_store.h"

namespace trainctl::data {

// One row's place in Dataset::tokens. Labels are the tokens themselves, the first `ignored` of them
// −100 (a masked prompt).
struct Row {
  int64_t begin = 0;
  int64_t length = 0;
  int64_t ignored = 0;
};

using Progress = std::function<void(int64_t done, int64_t total)>;

// Immutable after LoadDataset; thread-safe.
struct Dataset {
  TokenStore tokens;
  KeptList<Row> rows;  // in the file's order, after max_rows
  // Of tokens whose labels are −100 too, behind their row's first: turns between answers.
  // Ascending, apart, each within one row.
  KeptList<TokenSpan> ignored;
  std::vector<int64_t> train;  // indices into rows, ascending; EpochOrder (batches.h) shuffles them
  std::vector<int64_t> val;    // indices into rows, or validation's, ascending
  std::unique_ptr<Dataset> validation;  // of data.val_path or data.val_split; else null
  int64_t max_seq_length = 0;           // no row is longer
  int64_t longest_row = 0;
  int64_t total_tokens = 0;
  int64_t sample_of = 0;  // rows of the data, about, of which these are a sample; 0: all are here
  PictureList pictures;   // each row's, of captions; else none
  std::vector<BrokenPicture> skipped;  // rows that are left out
  std::string digest;                  // of the data files' bytes (digest.h), never of pictures
};

// Formats:
//   alpaca  .json (a list) or .jsonl of {"instruction", "input", "output"}: [bos] prompt, output
//           [eos]; mask_prompt ignores the prompt
//   text    .json or .jsonl of {"text"}: [bos] text [eos]
//   completion  .json or .jsonl of {"prompt", "completion"}: [bos] both as one text [eos];
//           mask_prompt ignores the prompt
//   chat    .json or .jsonl of {"messages"} or {"conversations"} (conversation.h), as the template
//           writes them; mask_prompt ignores all but the assistant's words and what ends them
//   captions  pictures with {"text"}: an imagefolder, .json or .jsonl (captions.h): the model's
//           placeholders for a picture, [bos] text [eos]; the placeholders and bos are ignored.
//           Pictures are opened when they are trained on, not here
//   plain   a text file, tokenized whole and cut into rows of max_seq_length; the rest is the last
//           row
//   bin     nanoGPT's raw uint16, or llm.c's 256-int32 header and uint16 or uint32; cut in the same
//           way. Needs no tokenizer
// The first five may be rows of Arrow or Parquet too, in a file or a folder (data_files.h); all of
// them but chat of a file *.csv.
// data.columns renames their keys.
// Lines and tables are tokenized on as many threads as the process has CPUs.
// Rows are truncated to max_seq_length. bos and eos: boundary_tokens.h. A rest of a single token,
// which can train nothing, is dropped. max_rows keeps the first rows of the file. Which of them
// validate is a Philox shuffle of (data.seed), cut by job::SplitRows; or all rows of data.val_path
// and data.val_split do. Under data.on_broken_picture "skip" each picture is decoded here, and rows
// of those that can't be decoded are left out; one that can't be opened or read is an error.
//
// progress: told from time to time, on the calling thread, how many of a total of bytes are done.
// The file counts twice: once for its digest, once for its tokens. It counts a third time where
// pictures are decoded. While another process makes the same tokens it tells how far that one is.
// May be empty. talk: who then waits for whom, on the calling thread too.
//
// Errors: kNotFound (no data file, no tokenizer), kIo, kInvalid. kInvalid: a token beyond the
// model's vocabulary, no rows, or none with a token that counts; pictures that the model does not
// take, or of which its preprocessor makes something else. A broken file is kInvalid too: the
// message names file, row or line, and key. cache_folder: where tokens are kept by content
// (token_cache.h); "": nowhere.
base::Result<Dataset> LoadDataset(const job::DataSpec& data, const job::ModelShape& model,
                                  const std::string& model_directory, int64_t max_seq_length,
                                  const std::string& cache_folder = "",
                                  const Progress& progress = {}, const TurnTalk& talk = {});

// What a data set of at least size.least_bytes holds, by some rows from here and there, in a few
// seconds: sample_of says how many those stand for. Its digest is one of sizes and samples. Of
// format bin all rows are told, and some tokens are looked at. Smaller data, and all of format
// plain, are LoadDataset's. It then waits for another's tokens for as long as these grow. Errors:
// its.
base::Result<Dataset> LoadSample(const job::DataSpec& data, const job::ModelShape& model,
                                 const std::string& model_directory, int64_t max_seq_length,
                                 const std::string& cache_folder = "", const SampleSize& size = {},
                                 const WaitsFor& waits_for = {});

// That whose rows `val` means.
inline const Dataset& ValidationOf(const Dataset& dataset) {
  return dataset.validation ? *dataset.validation : dataset;
}

// The spans of dataset.ignored within the row.
std::span<const TokenSpan> IgnoredIn(const Dataset& dataset, const Row& row);

// Labels of the row that are predicted and count.
int64_t TrainedTokensOf(const Dataset& dataset, const Row& row);

}  // namespace trainctl::data
