#include "worker/rank/data/dataset.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <utility>

#include "common/job/batch.h"
#include "worker/rank/data/captions.h"
#include "worker/rank/data/data_files.h"
#include "worker/rank/data/known_files.h"
#include "worker/rank/data/list_spool.h"
#include "worker/rank/data/row_pipeline.h"
#include "worker/rank/data/shuffle.h"
#include "worker/rank/data/text_content.h"
#include "worker/rank/data/token_file.h"
#include "worker/rank/files/digest.h"
#include "worker/rank/files/preprocessor_config.h"

namespace trainctl::data {
namespace {

constexpr int64_t kToldBytes = 1 << 20;

// The files' bytes count once for each pass: for their digest, for their tokens, and for their
// pictures where these are looked at. Tells every kToldBytes. Who waited for another job's tokens
// and then makes its own begins anew, which is told too.
class ProgressTeller {
 public:
  ProgressTeller(const Progress& progress, int64_t bytes, int64_t passes)
      : progress_(progress), bytes_(bytes), total_(passes * bytes) {}

  void Tell(int64_t done) {
    if (std::abs(done - told_) >= kToldBytes || done >= 2 * bytes_) Say(done);
  }

  // Of the third pass.
  void TellPictures(int64_t looked, int64_t pictures) {
    const int64_t steps = std::min(pictures, kPictureSteps);
    if (looked * steps / pictures == told_step_) return;
    told_step_ = looked * steps / pictures;
    Say(2 * bytes_ + bytes_ * told_step_ / steps);
  }

 private:
  static constexpr int64_t kPictureSteps = 200;

  void Say(int64_t done) {
    told_ = done;
    if (progress_) progress_(done, total_);
  }

  const Progress& progress_;
  const int64_t bytes_, total_;
  int64_t told_ = 0, told_step_ = 0;
};

base::Result<std::vector<files::MappedFile>> OpenAll(const DataFiles& data_files) {
  std::vector<files::MappedFile> opened;
  for (const std::string& path : data_files.paths) {
    auto file = files::MappedFile::Open(path);
    if (!file) return file.error();
    opened.push_back(std::move(*file));
  }
  return opened;
}

int64_t BytesOf(const std::vector<files::MappedFile>& opened) {
  int64_t bytes = 0;
  for (const files::MappedFile& file : opened) bytes += std::ssize(file.bytes());
  return bytes;
}

// Of all files' bytes, one behind the other. Leaves none of them resident.
std::string DigestOf(const std::vector<files::MappedFile>& opened, ProgressTeller* teller) {
  files::Xxh64Stream digest;
  int64_t digested = 0;
  for (const files::MappedFile& file : opened) {
    const std::span<const std::byte> bytes = file.bytes();
    for (size_t done = 0; done < bytes.size(); done += kToldBytes) {
      const auto part = bytes.subspan(done, std::min<size_t>(kToldBytes, bytes.size() - done));
      digest.Update(part);
      file.Release(part);
      teller->Tell(digested);
      digested += std::ssize(part);
    }
  }
  return digest.Digest();
}

base::Error Invalid(const std::string& message) { return {base::Code::kInvalid, message}; }

// Tokens are looked at so many at a time.
constexpr int64_t kTokenBlock = 1 << 20;

base::Status CheckBlock(const TokenStore& tokens, int64_t begin, int64_t end, const Source& source,
                        const std::string& path) {
  if (tokens.Largest(begin, end) < source.model.vocab) return base::Ok{};
  int64_t i = begin;
  while (tokens[i] < source.model.vocab) ++i;
  return Invalid(path + ": token " + std::to_string(i) + " is " + std::to_string(tokens[i]) +
                 ", beyond the model's vocabulary of " + std::to_string(source.model.vocab) +
                 "; was the file made with this model's tokenizer?");
}

// Looks at all tokens that are used, or at so many blocks of them, from here and there.
base::Result<Tokenized> ReadBinContent(files::MappedFile file, const Source& source,
                                       int64_t most_blocks = INT64_MAX) {
  const std::string path = file.path();
  auto tokens = ReadTokenFile(std::move(file));
  if (!tokens) return tokens.error();
  std::vector<Row> rows = CutRows(tokens->size(), source);
  const int64_t used = rows.empty() ? 0 : rows.back().begin + rows.back().length;
  const int64_t blocks = (used + kTokenBlock - 1) / kTokenBlock,
                looked_at = std::min(blocks, most_blocks);
  for (int64_t i = 0; i < looked_at; ++i) {
    // The first and the last are among them.
    const int64_t begin = i * (blocks - 1) / std::max<int64_t>(looked_at - 1, 1) * kTokenBlock;
    const int64_t end = std::min(begin + kTokenBlock, used), width_bytes = tokens->width_bytes();
    source.progress(begin * width_bytes);
    files::ReadSoon(tokens->bytes().subspan(static_cast<size_t>(begin * width_bytes),
                                            static_cast<size_t>((end - begin) * width_bytes)));
    const auto known = CheckBlock(*tokens, begin, end, source, path);
    if (!known) return known.error();
  }
  tokens->Release();
  return Tokenized{std::move(tokens).value(), std::move(rows), {}};
}

base::Result<Tokenized> ReadContent(const DataFiles& data_files,
                                    std::vector<files::MappedFile> opened, const Source& source) {
  if (data_files.are_tables) return ReadTableContent(data_files, source);
  if (source.data.format == job::DataFormat::kBin)
    return ReadBinContent(std::move(opened.front()), source);
  return ReadTextContent(opened.front(), source);
}

// The first val_rows of a shuffle of all rows validate.
void SplitTrainVal(const job::DataSpec& data, Dataset* dataset) {
  std::vector<int64_t> order(dataset->rows.size());
  std::iota(order.begin(), order.end(), 0);
  if (data.val_split_fraction == 0) {
    dataset->train = std::move(order);
    return;
  }
  Shuffle(data.seed, base::RandomStream::kSplit, 0, &order);
  const auto split =
      order.begin() + job::SplitRows(data, static_cast<int64_t>(order.size())).val_rows;
  dataset->val.assign(order.begin(), split);
  dataset->train.assign(split, order.end());
  std::sort(dataset->val.begin(), dataset->val.end());
  std::sort(dataset->train.begin(), dataset->train.end());
}

base::Error NothingTrains(const job::DataSpec& data, int64_t max_seq_length) {
  if (data.format == job::DataFormat::kCaptions) {
    return Invalid(data.path +
                   ": no caption has a token that counts in the loss; the placeholders " +
                   "of the picture fill train.max_seq_length " + std::to_string(max_seq_length) +
                   ": raise it");
  }
  const std::string what = data.format == job::DataFormat::kChat ? "what the assistant did not say"
                                                                 : "the prompts alone";
  const std::string hint = "; " + what + ", which data.mask_prompt leaves out, fill" +
                           (data.format == job::DataFormat::kChat ? "s" : "") +
                           " train.max_seq_length " + std::to_string(max_seq_length) +
                           ": raise it, or set data.mask_prompt to false";
  return Invalid(data.path + ": no row has a token that counts in the loss" +
                 (data.mask_prompt ? hint : ""));
}

base::Status CheckModel(const job::DataSpec& data, const job::ModelShape& model,
                        const std::string& model_directory) {
  if (const auto taken = PlaceholdersOf(data, model); !taken) return taken.error();
  return model.image ? files::CheckPreprocessor(model_directory, model.image->side) : base::Ok{};
}

// Into a data set that has its digest.
base::Status Fill(Tokenized content, const job::DataSpec& data, int64_t max_seq_length,
                  Dataset* dataset) {
  dataset->tokens = std::move(content.tokens);
  dataset->rows = std::move(content.rows);
  if (dataset->rows.empty()) return Invalid(data.path + ": no rows");
  dataset->ignored = std::move(content.ignored);
  dataset->pictures = std::move(content.pictures);
  const auto trains = [&](const Row& row) { return TrainedTokensOf(*dataset, row) > 0; };
  if (std::ranges::none_of(dataset->rows, trains)) return NothingTrains(data, max_seq_length);
  dataset->max_seq_length = max_seq_length;
  for (const Row& row : dataset->rows) {
    dataset->longest_row = std::max(dataset->longest_row, row.length);
    dataset->total_tokens += row.length;
  }
  SplitTrainVal(data, dataset);
  return base::Ok{};
}

// Of sizes, and of bytes from here and there, as what follows reads them too.
std::string SampledDigest(const std::vector<files::MappedFile>& opened) {
  constexpr size_t kBlocks = 64, kBlockBytes = 64 << 10;
  const size_t blocks = std::max<size_t>(kBlocks / opened.size(), 1);
  files::Xxh64Stream digest;
  for (const files::MappedFile& file : opened) {
    const std::span<const std::byte> bytes = file.bytes();
    const size_t size = bytes.size();
    file.AdviseRandom();
    digest.Update(std::as_bytes(std::span(&size, 1)));
    for (size_t block = 0; block < blocks; ++block) {
      const auto rest = bytes.subspan(size / blocks * block);
      const auto part = rest.first(std::min(rest.size(), kBlockBytes));
      files::ReadSoon(part);
      digest.Update(part);
    }
  }
  return "sampled " + digest.Digest();
}

constexpr int64_t kSampledBlocks = 64;

// Nullopt: all of them are read.
std::optional<SampleSize> SizeFor(const DataFiles& data_files, int64_t bytes,
                                  job::DataFormat format, SampleSize size) {
  if (format == job::DataFormat::kPlain) return std::nullopt;
  if (format == job::DataFormat::kCaptions && !data_files.are_tables) {
    size.least_bytes = size.least_bytes_of_paths;
    size.bytes_of_place = std::min(size.bytes_of_place, size.bytes_of_place_of_paths);
  }
  return bytes < size.least_bytes ? std::nullopt : std::optional(size);
}

// Of what is spooled there.
base::Status LeaveOut(std::span<const BrokenPicture> broken, const std::string& folder,
                      Tokenized* content) {
  ListSpool<Row> rows(folder);
  PictureListSpool pictures(folder);
  auto next = broken.begin();
  for (int64_t row = 0; row < std::ssize(content->rows); ++row) {
    if (next != broken.end() && next->row == row) {
      ++next;
      continue;
    }
    if (auto kept = rows.Append(content->rows[static_cast<size_t>(row)]); !kept) return kept;
    if (auto kept = pictures.Append(content->pictures[row]); !kept) return kept;
  }
  auto left_rows = rows.Take();
  if (!left_rows) return left_rows.error();
  auto left_pictures = pictures.Take();
  if (!left_pictures) return left_pictures.error();
  left_pictures->spool = content->pictures.spool;
  content->rows = std::move(*left_rows);
  content->pictures = std::move(*left_pictures);
  return base::Ok{};
}

base::Status LeaveOutBroken(const std::string& folder, Tokenized* content, ProgressTeller* teller,
                            std::vector<BrokenPicture>* skipped) {
  const int64_t all = content->pictures.size();
  auto broken = FindBroken(content->pictures, TokenizingThreads(),
                           [&](int64_t looked) { teller->TellPictures(looked, all); });
  if (!broken) return broken.error();
  *skipped = std::move(*broken);
  return skipped->empty() ? base::Status(base::Ok{}) : LeaveOut(*skipped, folder, content);
}

// Those of data.path alone.
base::Result<Dataset> LoadRows(const job::DataSpec& data, const job::ModelShape& model,
                               const std::string& model_directory, int64_t max_seq_length,
                               const std::string& cache_folder, const Progress& progress,
                               const TurnTalk& talk, bool looks_at_pictures) {
  if (auto fits = CheckModel(data, model, model_directory); !fits) return fits.error();
  const auto data_files = FindDataFiles(data);
  if (!data_files) return data_files.error();
  const auto known = KnownFiles::Of(data_files->paths);
  if (!known) return known.error();
  auto opened = OpenAll(*data_files);
  if (!opened) return opened.error();
  Dataset dataset;
  const int64_t bytes = BytesOf(*opened);
  const bool looks_for_broken =
      looks_at_pictures && data.on_broken_picture == job::OnBrokenPicture::kSkip;
  ProgressTeller teller(progress, bytes, looks_for_broken ? 3 : 2);
  if (auto digest = known->FindDigest(cache_folder)) {
    dataset.digest = std::move(*digest);
  } else {
    dataset.digest = DigestOf(*opened, &teller);
    if (known->CheckUnchanged()) known->KeepDigest(cache_folder, dataset.digest);
  }
  const RowProgress tell = [&](int64_t done_bytes) { teller.Tell(bytes + done_bytes); };
  auto content = ReadContent(*data_files, std::move(*opened),
                             {data, model, model_directory, max_seq_length, dataset.digest,
                              cache_folder, tell, *known, talk});
  if (!content) return content.error();
  if (auto same = known->CheckUnchanged(); !same) return same.error();
  teller.Tell(2 * bytes);
  if (looks_for_broken) {
    if (auto left = LeaveOutBroken(cache_folder, &*content, &teller, &dataset.skipped); !left)
      return base::Error{left.error().code, data.path + ": " + left.error().message};
    dataset.digest = DigestWithout(dataset.digest, dataset.skipped);
    if (content->rows.empty() && !dataset.skipped.empty()) {
      return Invalid(data.path +
                     ": none of the pictures can be read:" + BrokenText(dataset.skipped));
    }
  }
  auto filled = Fill(std::move(*content), data, max_seq_length, &dataset);
  if (!filled) return filled.error();
  return dataset;
}

base::Result<Dataset> SampleRows(const job::DataSpec& data, const job::ModelShape& model,
                                 const std::string& model_directory, int64_t max_seq_length,
                                 const std::string& cache_folder, const SampleSize& size,
                                 const WaitsFor& waits_for) {
  const TurnTalk talk{.name = "an inspection (process " + std::to_string(::getpid()) + ")",
                      .waits_for = waits_for,
                      .patience = kHurried};
  const auto data_files = FindDataFiles(data);
  if (!data_files) return data_files.error();
  const auto known = KnownFiles::Of(data_files->paths);
  if (!known) return known.error();
  auto opened = OpenAll(*data_files);
  if (!opened) return opened.error();
  const auto sampled = SizeFor(*data_files, BytesOf(*opened), data.format, size);
  if (!sampled)
    return LoadRows(data, model, model_directory, max_seq_length, cache_folder, {}, talk, false);
  if (auto fits = CheckModel(data, model, model_directory); !fits) return fits.error();
  Dataset dataset;
  dataset.digest = SampledDigest(*opened);
  const RowProgress untold = [](int64_t) {};
  const Source source{data,           model,          model_directory,
                      max_seq_length, dataset.digest, cache_folder,
                      untold,         *known,         talk};
  if (data.format == job::DataFormat::kBin) {  // rows follow from the file's size
    auto content = ReadBinContent(std::move(opened->front()), source, kSampledBlocks);
    if (!content) return content.error();
    auto filled = Fill(std::move(*content), data, max_seq_length, &dataset);
    if (!filled) return filled.error();
    return dataset;
  }
  auto sample = SampleContent(*data_files, opened->front(), *sampled, source);
  if (!sample) return sample.error();
  const double share = sample->share;
  auto filled = Fill(std::move(sample->tokens), data, max_seq_length, &dataset);
  if (!filled) return filled.error();
  if (share < 1) {
    const auto reckoned = std::llround(static_cast<double>(dataset.rows.size()) / share);
    dataset.sample_of = std::min<int64_t>(reckoned, data.max_rows.value_or(INT64_MAX));
  }
  return dataset;
}

job::DataSpec ValidationSpec(const job::DataSpec& data) {
  job::DataSpec validation = data;
  validation.path = data.val_path.value_or(data.path);
  validation.split = data.val_split;
  validation.max_rows = std::nullopt;
  validation.val_split_fraction = 0;
  validation.val_path = validation.val_split = std::nullopt;
  return validation;
}

// What load gives of data.path, with the rows that validate if they are of their own.
template <class Load>
base::Result<Dataset> WithValidation(const job::DataSpec& data, const Load& load) {
  base::Result<Dataset> dataset = load(data);
  if (!dataset || !HasValidationData(data)) return dataset;
  base::Result<Dataset> validation = load(ValidationSpec(data));
  if (!validation) return validation.error();
  const std::string digests = dataset->digest + " " + validation->digest;
  dataset->digest = files::Digest(std::as_bytes(std::span(digests)));
  dataset->val = validation->train;
  dataset->validation = std::make_unique<Dataset>(std::move(*validation));
  return dataset;
}

}  // namespace

base::Result<Dataset> LoadDataset(const job::DataSpec& data, const job::ModelShape& model,
                                  const std::string& model_directory, int64_t max_seq_length,
                                  const std::string& cache_folder, const Progress& progress,
                                  const TurnTalk& talk) {
  CHECK(max_seq_length > 0) << max_seq_length;
  return WithValidation(data, [&](const job::DataSpec& spec) {
    return LoadRows(spec, model, model_directory, max_seq_length, cache_folder, progress, talk,
                    true);
  });
}

base::Result<Dataset> LoadSample(const job::DataSpec& data, const job::ModelShape& model,
                                 const std::string& model_directory, int64_t max_seq_length,
                                 const std::string& cache_folder, const SampleSize& size,
                                 const WaitsFor& waits_for) {
  CHECK(max_seq_length > 0) << max_seq_length;
  return WithValidation(data, [&](const job::DataSpec& spec) {
    return SampleRows(spec, model, model_directory, max_seq_length, cache_folder, size, waits_for);
  });
}

std::span<const TokenSpan> IgnoredIn(const Dataset& dataset, const Row& row) {
  const auto first = std::ranges::lower_bound(dataset.ignored, row.begin, {}, &TokenSpan::begin);
  const auto last = std::ranges::lower_bound(first, dataset.ignored.end(), row.begin + row.length,
                                             {}, &TokenSpan::begin);
  return {first, last};
}

int64_t TrainedTokensOf(const Dataset& dataset, const Row& row) {
  int64_t trained = std::max<int64_t>(0, row.length - std::max<int64_t>(1, row.ignored));
  for (const TokenSpan& span : IgnoredIn(dataset, row))
    trained -= span.end - std::max(span.begin, row.begin + 1);
  return trained;
}

}  // namespace trainctl::data
