// A SentencePiece tokenizer.model: the fields of its ModelProto (sentencepiece_model.proto) that
// encoding needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace trainctl::data {

enum class PieceType {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

struct SentencePiece {
  std::string text;
  float score = 0;
  PieceType type = PieceType::kNormal;
};

struct SentencePieceModel {
  std::vector<SentencePiece> pieces;  // by id
  bool byte_fallback = false;
  bool whitespace_is_suffix = false;
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
  std::string precompiled_charsmap;
};

// kInvalid: not a ModelProto, no pieces, a piece twice, an algorithm other than BPE, unused pieces:
// named, after source.
base::Result<SentencePieceModel> ReadSentencePieceModel(std::string_view proto,
                                                        const std::string& source);

}  // namespace trainctl::data
