// What a format makes of a JSON row.
#pragma once

#include <functional>
#include <string>

#include "common/base/result.h"
#include "common/job/job.h"
#include "worker/rank/data/boundary_tokens.h"
#include "worker/rank/data/captions.h"
#include "worker/rank/data/row_collector.h"
#include "worker/rank/files/json_object.h"
#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::data {

// Adds one row to the collector. Missing keys are the row's own faults, and such a row is not
// added; what else is wrong comes back as kInvalid.
using ReadRow = std::function<base::Status(const files::JsonObject& row, RowCollector* rows)>;

// Of captions.
struct CaptionSource {
  PictureSource pictures;
  Placeholders placeholders;
};

// Of alpaca, text, completion, chat and captions. data and tokenizer outlive it.
// Errors: those of ChatEncoder::Create.
base::Result<ReadRow> RowReaderOf(const job::DataSpec& data, const Tokenizer& tokenizer,
                                  const BoundaryTokens& boundary,
                                  const std::string& model_directory,
                                  const CaptionSource& captions = {});

}  // namespace trainctl::data
