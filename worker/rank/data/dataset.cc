#include "worker/rank/data/dataset.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "common/job/batch.h"
#include "worker/rank/data/json_rows.h"
#include "worker/rank/data/prompt.h"
#include "worker/rank/data/row_collector.h"
#include "worker/rank/data/shuffle.h"
#include "worker/rank/data/token_cache.h"
#include "worker/rank/data/token_file.h"
#include "worker/rank/files/digest.h"
#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::data {
namespace {

constexpr int64_t kToldBytes = 1 << 20;

// What is being read, and for which model.
struct Source {
  const job::DataSpec& data;
  const job::ModelShape& model;
  const std::string& model_directory;
  int64_t max_seq_length;
  const std::string& digest;  // of the data file
  const std::string& cache_folder;
  const RowProgress& progress;
};

// The file's bytes count twice: for its digest, and for its tokens. Tells every kToldBytes.
class ProgressTeller {
 public:
  ProgressTeller(const Progress& progress, int64_t file_bytes)
      : progress_(progress), file_bytes_(file_bytes) {}

  void Tell(int64_t done) {
    if (!progress_ || (done - told_ < kToldBytes && done < 2 * file_bytes_)) return;
    told_ = done;
    progress_(done, 2 * file_bytes_);
  }

 private:
  const Progress& progress_;
  const int64_t file_bytes_;
  int64_t told_ = 0;
};

std::string DigestOf(std::span<const std::byte> bytes, ProgressTeller* teller) {
  files::Xxh64Stream digest;
  for (size_t done = 0; done < bytes.size(); done += kToldBytes) {
    digest.Update(bytes.subspan(done, std::min<size_t>(kToldBytes, bytes.size() - done)));
    teller->Tell(static_cast<int64_t>(done));
  }
  return digest.Digest();
}

// The tokens and rows of a data file; LoadDataset adds what is the same for all formats.
using Content = CachedTokens;

// As a tokenizer made them.
struct Tokenized {
  std::vector<int32_t> tokens;
  std::vector<Row> rows;
};

base::Error Invalid(const std::string& message) { return {base::Code::kInvalid, message}; }

base::Result<std::unique_ptr<Tokenizer>> TokenizerOf(const Source& source) {
  auto tokenizer = LoadTokenizer(source.model_directory);
  if (tokenizer || tokenizer.error().code != base::Code::kNotFound) return tokenizer;
  return base::Error{
      base::Code::kNotFound,
      tokenizer.error().message + "; without a tokenizer only data.format \"bin\" can be read"};
}

// Consecutive rows of max_seq_length tokens; a rest of one token, which predicts nothing, is
// dropped.
std::vector<Row> CutRows(int64_t tokens, const Source& source) {
  std::vector<Row> rows;
  const int64_t most = source.data.max_rows.value_or(INT64_MAX);
  for (int64_t begin = 0; begin + 1 < tokens && static_cast<int64_t>(rows.size()) < most;
       begin += source.max_seq_length) {
    rows.push_back({begin, std::min(source.max_seq_length, tokens - begin), 0});
  }
  return rows;
}

base::Status AddAlpacaRow(const files::JsonObject& row, bool mask_prompt, RowCollector* rows) {
  const std::string prompt = AlpacaPrompt(row.Text("instruction"), row.Text("input", ""));
  return rows->Add(prompt, row.Text("output"), mask_prompt);
}

base::Result<Tokenized> TokenizeJson(const files::MappedFile& file, const Source& source) {
  auto tokenizer = TokenizerOf(source);
  if (!tokenizer) return tokenizer.error();
  auto boundary = ReadBoundaryTokens(**tokenizer, source.model, source.model_directory);
  if (!boundary) return boundary.error();
  RowCollector rows(**tokenizer, std::move(boundary).value(), source.model.vocab,
                    source.max_seq_length);
  const bool alpaca = source.data.format == job::DataFormat::kAlpaca;
  const auto add = [&](const files::JsonObject& row) {
    return alpaca ? AddAlpacaRow(row, source.data.mask_prompt, &rows)
                  : rows.Add("", row.Text("text"), false);
  };
  auto count = ReadJsonRows(file.text(), file.path(), source.data.max_rows, add, source.progress);
  if (!count) return count.error();
  std::vector<int32_t> tokens = rows.TakeTokens();
  return Tokenized{std::move(tokens), rows.TakeRows()};
}

base::Result<Tokenized> TokenizePlain(const files::MappedFile& file, const Source& source) {
  if (file.text().size() > kMaxTextBytes) {
    return Invalid(
        file.path() + ": " + std::to_string(file.text().size()) + " bytes, expected at most " +
        std::to_string(kMaxTextBytes) +
        " of plain text; tokenize larger corpora into a .bin file (data.format \"bin\")");
  }
  auto tokenizer = TokenizerOf(source);
  if (!tokenizer) return tokenizer.error();
  std::vector<int32_t> ids;
  const auto told = [&](size_t done_bytes) {
    source.progress(static_cast<int64_t>(std::min(done_bytes, file.text().size())));
  };
  (*tokenizer)->Encode(file.text(), &ids, told);
  const auto known = CheckVocabulary(ids, source.model.vocab, **tokenizer);
  if (!known) return Invalid(file.path() + ": " + known.error().message);
  std::vector<Row> rows = CutRows(static_cast<int64_t>(ids.size()), source);
  return Tokenized{std::move(ids), std::move(rows)};
}

// Everything that the tokens depend on. The number in front counts the changes of prompts,
// tokenizers and the rule of bos and eos in this program.
std::string CacheKey(const Source& source) {
  std::string key = "2 " + source.digest;
  const auto add = [&](const auto& value) { key += " " + std::to_string(value); };
  add(static_cast<int>(source.data.format));
  add(source.data.max_rows.value_or(-1));
  add(static_cast<int>(source.data.mask_prompt));
  add(source.max_seq_length);
  add(source.model.vocab);
  add(source.model.bos_token);
  add(source.model.eos_token);
  for (const char* name :
       {"tokenizer.json", "tokenizer.model", "vocab.json", "merges.txt", "tokenizer_config.json"}) {
    const auto file = files::MappedFile::Open(source.model_directory + "/" + name);
    key += file ? " " + files::Digest(file->bytes()) : std::string(" -");
  }
  return key;
}

base::Result<Content> ReadTextContent(const files::MappedFile& file, const Source& source) {
  const std::string key = source.cache_folder.empty() ? "" : CacheKey(source);
  if (!key.empty()) {
    if (auto cached = FindCachedTokens(source.cache_folder, key, source.model.vocab))
      return std::move(*cached);
  }
  auto made = source.data.format == job::DataFormat::kPlain ? TokenizePlain(file, source)
                                                            : TokenizeJson(file, source);
  if (!made) return made.error();
  if (!key.empty() && !made->rows.empty())
    CacheTokens(source.cache_folder, key, made->tokens, made->rows);
  return Content{TokenStore(std::move(made->tokens)), std::move(made->rows)};
}

base::Result<Content> ReadBinContent(files::MappedFile file, const Source& source) {
  const std::string path = file.path();
  const int64_t file_bytes = std::ssize(file.bytes());
  auto tokens = ReadTokenFile(std::move(file));
  if (!tokens) return tokens.error();
  std::vector<Row> rows = CutRows(tokens->size(), source);
  const int64_t used = rows.empty() ? 0 : rows.back().begin + rows.back().length;
  for (int64_t i = 0; i < used; ++i) {
    if (i % kToldBytes == 0) source.progress(file_bytes / std::max<int64_t>(tokens->size(), 1) * i);
    if ((*tokens)[i] >= source.model.vocab) {
      return Invalid(path + ": token " + std::to_string(i) + " is " + std::to_string((*tokens)[i]) +
                     ", beyond the model's vocabulary of " + std::to_string(source.model.vocab) +
                     "; was the file made with this model's tokenizer?");
    }
  }
  return Content{std::move(tokens).value(), std::move(rows)};
}

base::Result<Content> ReadContent(files::MappedFile file, const Source& source) {
  switch (source.data.format) {
    case job::DataFormat::kAlpaca:
    case job::DataFormat::kText:
    case job::DataFormat::kPlain: return ReadTextContent(file, source);
    case job::DataFormat::kBin: return ReadBinContent(std::move(file), source);
  }
  CHECK(false) << static_cast<int>(source.data.format);
}

// The first val_rows of a shuffle of all rows validate.
void SplitTrainVal(const job::DataSpec& data, Dataset* dataset) {
  std::vector<int64_t> order(dataset->rows.size());
  std::iota(order.begin(), order.end(), 0);
  Shuffle(data.seed, base::RandomStream::kSplit, 0, &order);
  const auto split =
      order.begin() + job::SplitRows(data, static_cast<int64_t>(order.size())).val_rows;
  dataset->val.assign(order.begin(), split);
  dataset->train.assign(split, order.end());
  std::sort(dataset->val.begin(), dataset->val.end());
  std::sort(dataset->train.begin(), dataset->train.end());
}

// Some token of it is predicted, and counts.
bool Trains(const Row& row) { return row.length > std::max<int64_t>(row.ignored, 1); }

base::Error NothingTrains(const job::DataSpec& data, int64_t max_seq_length) {
  const std::string hint =
      "; the prompts alone, which data.mask_prompt leaves out, fill train.max_seq_length " +
      std::to_string(max_seq_length) + ": raise it, or do without data.mask_prompt";
  return Invalid(data.path + ": no row has a token that counts in the loss" +
                 (data.mask_prompt ? hint : ""));
}

}  // namespace

base::Result<Dataset> LoadDataset(const job::DataSpec& data, const job::ModelShape& model,
                                  const std::string& model_directory, int64_t max_seq_length,
                                  const std::string& cache_folder, const Progress& progress) {
  CHECK(max_seq_length > 0) << max_seq_length;
  auto file = files::MappedFile::Open(data.path);
  if (!file) return file.error();
  Dataset dataset;
  const int64_t file_bytes = std::ssize(file->bytes());
  ProgressTeller teller(progress, file_bytes);
  dataset.digest = DigestOf(file->bytes(), &teller);
  const RowProgress tell = [&](int64_t done_bytes) { teller.Tell(file_bytes + done_bytes); };
  auto content = ReadContent(std::move(file).value(), {data, model, model_directory, max_seq_length,
                                                       dataset.digest, cache_folder, tell});
  if (!content) return content.error();
  teller.Tell(2 * file_bytes);
  dataset.tokens = std::move(content->tokens);
  dataset.rows = std::move(content->rows);
  if (dataset.rows.empty()) return Invalid(data.path + ": no rows");
  if (std::ranges::none_of(dataset.rows, Trains)) return NothingTrains(data, max_seq_length);
  dataset.max_seq_length = max_seq_length;
  for (const Row& row : dataset.rows) {
    dataset.longest_row = std::max(dataset.longest_row, row.length);
    dataset.total_tokens += row.length;
  }
  SplitTrainVal(data, &dataset);
  return dataset;
}

}  // namespace trainctl::data
