#include "worker/rank/data/inspect.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "common/base/writable_folder.h"
#include "common/job/job_paths.h"
#include "common/job/trains.h"
#include "common/model/model_tensors.h"
#include "worker/rank/data/boundary_tokens.h"
#include "worker/rank/data/captions.h"
#include "worker/rank/data/chat_encoder.h"
#include "worker/rank/data/dataset.h"
#include "worker/rank/data/packing.h"
#include "worker/rank/data/prompts.h"
#include "worker/rank/data/shown_row.h"
#include "worker/rank/files/adapter_config.h"
#include "worker/rank/files/check_weights.h"
#include "worker/rank/files/checkpoint_folder.h"
#include "worker/rank/files/hub_cache.h"
#include "worker/rank/files/model_config.h"
#include "worker/rank/files/weights.h"
#include "worker/rank/images/decode.h"
#include "worker/rank/tokenizer/tokenizer.h"
#include "worker/rank/tokenizer/tokenizer_digest.h"

namespace trainctl::data {

namespace {

// One alone is told of by what reads it, which knows more of it.
base::Status CheckSeveralThere(const job::JobSpec& job) {
  std::vector<std::string> missing;
  for (const job::JobPath& named : job::PathsOf(job)) {
    std::error_code error;
    const bool is_missing = !std::filesystem::exists(named.path, error) && !error;
    if (named.needed && is_missing) missing.push_back(named.key + " " + named.path);
  }
  if (missing.size() < 2) return base::Ok{};
  std::string text = std::to_string(missing.size()) + " paths are not there: ";
  for (const std::string& one : missing) text += (&one == &missing.front() ? "" : ", ") + one;
  return base::Error{base::Code::kNotFound, text};
}

base::Status LookAtWeights(const std::string& directory, const job::ModelShape& model) {
  const auto weights = files::WeightFiles::Open(directory);
  if (!weights) return weights.error();
  return files::CheckWeights(*weights, job::TensorsOf(job::Describe(model)), model.tied_head);
}

// Those of data.path and of rows that validate alone.
base::Status LookAtPictures(const job::JobSpec& job, const Dataset& dataset,
                            job::Inspection* inspection) {
  for (const Dataset* rows : {&dataset, static_cast<const Dataset*>(dataset.validation.get())}) {
    if (rows == nullptr) continue;
    const bool is_sample = rows->sample_of > 0;
    const auto counts = CheckPictures(rows->pictures, job.data.on_broken_picture,
                                      is_sample ? kOfSample : PictureSample());
    if (!counts) {
      const std::string& path =
          rows == &dataset ? job.data.path : job.data.val_path.value_or(job.data.path);
      return base::Error{counts.error().code, path + ": " + counts.error().message};
    }
    inspection->decoded_pictures += counts->decoded;
    inspection->broken_pictures += counts->broken;
  }
  return base::Ok{};
}

// What the row's chat template writes of itself. The dataset has been made with it.
std::string NoteOf(const job::DataSpec& data, const Tokenizer& tokenizer,
                   const job::ModelShape& model, const std::string& directory) {
  if (data.format != job::DataFormat::kChat) return "";
  const auto boundary = ReadBoundaryTokens(tokenizer, model, directory);
  if (!boundary) return "";
  const auto encoder = ChatEncoder::Create(data, tokenizer, *boundary, directory);
  return encoder ? encoder->form().note : "";
}

// One text, which has no rows of its own.
bool IsCutAnyway(job::DataFormat format) {
  return format == job::DataFormat::kPlain || format == job::DataFormat::kBin;
}

int64_t LongestOf(const Dataset& dataset, const std::vector<int64_t>& rows) {
  int64_t longest = 0;
  for (const int64_t row : rows) longest = std::max(longest, dataset.rows[row].length);
  return longest;
}

// Into the inspection of a model.
base::Status InspectData(const job::JobSpec& job, const std::string& directory,
                         const CacheFolders& folders, const WaitsFor& waits_for,
                         job::Inspection* inspection) {
  const WaitsFor told = [&](const std::string& holder) {
    inspection->waited_for = holder;
    if (waits_for) waits_for(holder);
  };
  auto dataset = LoadSample(job.data, inspection->model, directory, job.train.max_seq_length,
                            folders.tokens, {}, told);
  if (!dataset) return dataset.error();
  if (auto looked = LookAtPictures(job, *dataset, inspection); !looked) return looked.error();
  const int64_t rows = std::ssize(dataset->rows);
  const bool is_sample = dataset->sample_of > rows;
  // Of the whole: what a sample has, as often as it fits.
  const auto of_all = [&](int64_t count) {
    const double times = static_cast<double>(dataset->sample_of) / static_cast<double>(rows);
    return is_sample ? std::llround(static_cast<double>(count) * times) : count;
  };
  inspection->rows = of_all(rows);
  inspection->sampled_rows = is_sample ? rows : 0;
  inspection->longest_row = LongestOf(*dataset, dataset->train);
  inspection->longest_validation_row = LongestOf(ValidationOf(*dataset), dataset->val);
  if (dataset->validation) {
    const Dataset& validation = *dataset->validation;
    inspection->validation_rows =
        validation.sample_of > 0 ? validation.sample_of : std::ssize(validation.rows);
  }
  inspection->total_tokens = of_all(dataset->total_tokens);
  inspection->untrained_rows = of_all(std::ranges::count_if(
      dataset->rows, [&](const Row& row) { return TrainedTokensOf(*dataset, row) == 0; }));
  if (!IsCutAnyway(job.data.format)) {
    inspection->full_rows = of_all(std::ranges::count_if(
        dataset->rows, [&](const Row& row) { return row.length == dataset->max_seq_length; }));
  }
  // Whether or not this job packs: another of the same data may.
  if (job.data.format != job::DataFormat::kCaptions) {
    const PackedCounts packed = CountPacked(*dataset, job.data.seed);
    inspection->packed_sequences = of_all(packed.sequences);
    inspection->longest_sequence = packed.longest;
  }
  inspection->data_digest = dataset->digest;
  // Tokens as they are need no tokenizer, and a folder may have none.
  if (const auto tokenizer = LoadTokenizer(directory)) {
    inspection->tokenizer_digest = DigestOf(**tokenizer);
    inspection->first_row = ShowRow(*dataset, 0, **tokenizer);
    inspection->first_row->note = NoteOf(job.data, **tokenizer, inspection->model, directory);
  }
  return base::Ok{};
}

// What the disk does not say is not known.
base::Result<job::OutputFolder> LookAtOutput(const std::string& directory) {
  if (const auto writable = base::CheckWritableFolder(directory); !writable)
    return writable.error();
  auto output = job::ReadWithOverlaps(directory);
  if (!output) return output;
  if (const auto free_bytes = base::FreeBytes(directory)) output->free_bytes = *free_bytes;
  return output;
}

}  // namespace

base::Result<job::Inspection> Inspect(const job::JobSpec& job, const CacheFolders& folders,
                                      const WaitsFor& waits_for) {
  const base::Status there = CheckSeveralThere(job);
  const auto found = files::FindModel(job.model.path, folders.models);
  if (!found) return base::Error{found.error().code, "model.path: " + found.error().message};
  const std::string& directory = found->folder;
  auto model = files::ReadModelConfig(directory);
  if (!model) return there ? model.error() : there.error();
  if (!model->image && !job.eval.images.empty()) {
    return base::Error{base::Code::kInvalid, "eval.images: expected none: " + job.model.path +
                                                 " is a model of type '" + model->family +
                                                 "', which takes no pictures"};
  }
  if (!there) return there.error();
  job::Inspection inspection;
  inspection.model = *model;
  inspection.model_revision = found->revision;
  if (!found->adapter.empty()) {
    const auto adapter = files::CheckAdapter(found->adapter, job);
    if (!adapter)
      return base::Error{adapter.error().code, "model.path: " + adapter.error().message};
  }
  const bool comes_whole = job.checkpoint.resume_from && job::TrainsEveryWeight(job);
  if (job.model.init == job::ModelInit::kPretrained && !comes_whole) {
    const auto checked = LookAtWeights(directory, *model);
    // Where there are none yet, a prediction is wanted all the same.
    if (!checked && !files::HasWeights(directory))
      inspection.missing_weights = checked.error().message;
    else if (!checked)
      return base::Error{checked.error().code, "model.path: " + checked.error().message};
  }
  if (job::Trains(job)) {
    if (const auto looked = InspectData(job, directory, folders, waits_for, &inspection); !looked)
      return looked.error();
  }
  for (size_t i = 0; i < job.eval.images.size(); ++i) {
    const auto picture = images::DecodeFile({job.eval.images[i]});
    if (!picture) {
      return base::Error{base::Code::kInvalid,
                         "eval.images[" + std::to_string(i) + "]: " + picture.error().message};
    }
  }
  if (const auto prompts = ReadPrompts(job, *model, directory); !prompts) return prompts.error();
  if (job.checkpoint.resume_from) {
    const auto checkpoint = files::FindCheckpoint(*job.checkpoint.resume_from);
    if (!checkpoint) {
      return base::Error{base::Code::kInvalid,
                         "checkpoint.resume_from: " + checkpoint.error().message};
    }
    inspection.resume_step = checkpoint->manifest.step;
  }
  if (!job::WritesOutput(job)) return inspection;
  auto output = LookAtOutput(*job.output.dir);
  if (!output) return base::Error{base::Code::kInvalid, "output.dir: " + output.error().message};
  inspection.output = std::move(*output);
  return inspection;
}

}  // namespace trainctl::data
