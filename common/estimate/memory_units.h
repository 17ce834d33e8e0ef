// The flat buffers that a job's parameters lie in, in elements: one for each unit (embedding;
// block; head) × {trainable, frozen}, and the codes of 4-bit matrices. Each Hugging Face tensor is
// rounded up to 256 elements (worker/rank/strategy/flat_layout.h). Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "common/job/job.h"
#include "common/model/model_description.h"
#include "common/model/model_shape.h"

namespace trainctl::job {

struct UnitElements {
  int64_t trainable = 0;
  std::vector<int64_t> tensors;  // those that are trained, as they lie; without what rounds them up
  int64_t frozen = 0;            // of the compute dtype
  int64_t quantized = 0;         // matrices stored as 4-bit codes

  int64_t all() const { return trainable + frozen + quantized; }
};

// Neighbouring tensors of a part of a unit's buffer that have states of one kind in 8-bit AdamW
// (worker/rank/optim/adamw_8bit.h): those of small tensors stay fp32.
struct StateRun {
  int64_t elements = 0;
  bool is_small = false;
};

// Of what is trained, elements [begin, begin + elements) of the buffer.
std::vector<StateRun> StateRuns(const UnitElements& unit, int64_t begin, int64_t elements);

// A unit before the embedding.
struct EncoderElements {
  UnitElements elements;
  ModelPart part = ModelPart::kVision;
  int64_t adapters = 0;         // adapted matrices
  int64_t adapter_rows = 0;     // rows of a sample that they are given, all together
  bool adapts_down = false;     // the FFN's second matrix is one of them
  bool adapts_sources = false;  // so is one of the picture's keys or values
  int64_t positions = 0;        // of a sample
  int64_t width = 0;            // of its output's rows
  int64_t ffn = 0;              // of its FFN
  bool is_block = false;
  bool reads_image = false;
  SavedElements saves;  // of a sample; without those of adapters
};

struct ModelUnits {
  std::vector<EncoderElements> encoder;  // in the order of the forward
  UnitElements embedding;
  UnitElements block;
  UnitElements head;  // the final norm; with its matrix, unless that is the embedding
  int64_t layers = 0;
  bool tied_head = false;
  int64_t block_adapters = 0;  // adapted matrices of a block; 0 without LoRA
  bool adapts_down = false;    // the FFN's second matrix is one of them
  SavedElements block_saves;   // for its backward, at a position; without those of adapters
  bool gates = true;           // the FFN is SwiGLU; else ReLU
};

// Full fine-tuning: everything is trainable. LoRA: the base is frozen and each target's A and B are
// trainable, in its unit. Without training all are frozen. quantize: the matrices of each block are
// codes.
ModelUnits UnitsOf(const JobSpec& job, const ModelShape& model);

// Whether something is trained in the first so many units of the encoder.
bool EncoderTrains(const ModelUnits& units, size_t first_units);

// Of an encoder: the unit that gives the picture's features, and the last that reads them.
size_t FeaturesUnit(const ModelUnits& units);
size_t LastReader(const ModelUnits& units);

// The sum of f over all units.
template <class F>
int64_t SumOverUnits(const ModelUnits& units, const F& f) {
  int64_t encoder = 0;
  for (const EncoderElements& unit : units.encoder) encoder += f(unit.elements);
  return encoder + f(units.embedding) + units.layers * f(units.block) + f(units.head);
}

}  // namespace trainctl::job
