// Tokenizers small enough to follow by hand, and model directories that hold one.
#pragma once

#include <string>

#include "common/model/model_shape.h"
#include "tests/files/scratch_directory.h"
#include "worker/rank/data/dataset.h"

namespace trainctl::data {

// A tokenizer.json whose text bytes are their own ids: byte-level, 256 entries in the order of the
// bytes, no merges, "<|end|>" = 256.
std::string ByteTokenizerJson();

// Puts it and a config.json into the directory. bos = 254 and eos = 255 (bytes that UTF-8 never
// holds), vocabulary 300.
job::ModelShape WriteByteModel(const ScratchDirectory& directory);

// The text of a row of data beside that model, between bos and eos.
std::string TextOf(const Dataset& dataset, size_t row);

// A tokenizer.json around a model with these vocabulary and merges (JSON texts); more is put beside
// "model"
// ("\"normalizer\": …"), options into it ("\"unk_token\": …").
std::string TokenizerJson(const std::string& vocab, const std::string& merges,
                          const std::string& more = "", const std::string& options = "");

}  // namespace trainctl::data
