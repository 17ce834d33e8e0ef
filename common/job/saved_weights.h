// What a job leaves in output.dir at its end, and the type of its numbers. Checkpoints, which
// training goes on from, are apart from it, and exact. Pure, thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "common/job/job.h"

namespace trainctl::job {

struct WeightsTypeInfo {
  std::string_view name;  // in job files, and in a model's config.json
  WeightsType type;
  int64_t bytes;  // of a number
};

inline constexpr std::array<WeightsTypeInfo, 3> kWeightsTypes = {{
    {"float32", WeightsType::kFloat32, 4},
    {"bfloat16", WeightsType::kBfloat16, 2},
    {"float16", WeightsType::kFloat16, 2},
}};

constexpr const WeightsTypeInfo& InfoOf(WeightsType type) {
  return kWeightsTypes[static_cast<size_t>(type)];
}

// In the order of the enumeration.
static_assert([] {
  for (size_t i = 0; i < kWeightsTypes.size(); ++i) {
    if (kWeightsTypes[i].type != static_cast<WeightsType>(i)) return false;
  }
  return true;
}());

// An adapter without its model; else, unless output.save is none, the whole model.
inline bool SavesAdapter(const JobSpec& job) {
  return job.output.save != Save::kNone && job.output.save != Save::kMerged && job.lora;
}
inline bool SavesModel(const JobSpec& job) {
  return job.output.save != Save::kNone && !SavesAdapter(job);
}

// output.dtype, else that of what was trained. A model that adapters are merged into has else the
// type of its frozen weights.
inline WeightsType SavedTypeOf(const JobSpec& job) {
  if (job.output.dtype) return *job.output.dtype;
  const bool is_frozen = job.lora.has_value() && !SavesAdapter(job);
  const bool is_wide =
      job.precision == Precision::k32True || (job.precision == Precision::kBf16Mixed && !is_frozen);
  return is_wide ? WeightsType::kFloat32 : WeightsType::kBfloat16;
}

}  // namespace trainctl::job
