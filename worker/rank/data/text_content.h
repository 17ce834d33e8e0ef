// The rows of a data file of text, as tokens: found in the cache, or made by the model's tokenizer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/job/job.h"
#include "common/model/model_shape.h"
#include "worker/rank/data/cache_turn.h"
#include "worker/rank/data/data_files.h"
#include "worker/rank/data/json_rows.h"
#include "worker/rank/data/known_files.h"
#include "worker/rank/data/sample_size.h"
#include "worker/rank/data/token_cache.h"
#include "worker/rank/files/mapped_file.h"

namespace trainctl::data {

// What is being read, and for which model.
struct Source {
  const job::DataSpec& data;
  const job::ModelShape& model;
  const std::string& model_directory;
  int64_t max_seq_length;
  const std::string& digest;  // of the data files
  const std::string& cache_folder;
  const RowProgress& progress;
  const KnownFiles& files;
  const TurnTalk& talk;
};

// Consecutive rows of max_seq_length tokens; a rest of one token, which predicts nothing, is
// dropped.
std::vector<Row> CutRows(int64_t tokens, const Source& source);

// Of all formats but bin. Errors: those of LoadDataset (dataset.h).
base::Result<Tokenized> ReadTextContent(const files::MappedFile& file, const Source& source);

// The same of tables.
base::Result<Tokenized> ReadTableContent(const DataFiles& tables, const Source& source);

// Some rows, and which share of all they are.
struct SampledContent {
  Tokenized tokens;
  double share = 1;
};

// Of tables, or of a file of JSON: of lines from here and there, else its first rows. Nothing is
// cached. Errors: as above.
base::Result<SampledContent> SampleContent(const DataFiles& data_files,
                                           const files::MappedFile& first, const SampleSize& size,
                                           const Source& source);

}  // namespace trainctl::data
