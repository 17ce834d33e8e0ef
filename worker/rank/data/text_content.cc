#include "worker/rank/data/text_content.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "worker/rank/data/cache_turn.h"
#include "worker/rank/data/captions.h"
#include "worker/rank/data/list_chunks.h"
#include "worker/rank/data/row_format.h"
#include "worker/rank/data/row_lines.h"
#include "worker/rank/data/row_pipeline.h"
#include "worker/rank/data/sampled_rows.h"
#include "worker/rank/data/table_rows.h"
#include "worker/rank/files/digest.h"
#include "worker/rank/files/hf_directory.h"
#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::data {
namespace {

namespace fs = std::filesystem;

base::Error InvalidText(const std::string& message) { return {base::Code::kInvalid, message}; }

base::Result<std::unique_ptr<Tokenizer>> TokenizerOf(const Source& source) {
  auto tokenizer = LoadTokenizer(source.model_directory);
  if (tokenizer || tokenizer.error().code != base::Code::kNotFound) return tokenizer;
  return base::Error{
      base::Code::kNotFound,
      tokenizer.error().message + "; without a tokenizer only data.format \"bin\" can be read"};
}

// What of a file is read and done with, and no longer resident.
class ReleasedPart {
 public:
  explicit ReleasedPart(const files::MappedFile& file) : file_(file) {}

  void To(int64_t read_bytes) {
    const int64_t done_bytes = std::min(read_bytes, std::ssize(file_.bytes()));
    if (done_bytes - done_ < kReleasedAtOnce) return;
    file_.Release(
        file_.bytes().subspan(static_cast<size_t>(done_), static_cast<size_t>(done_bytes - done_)));
    done_ = done_bytes;
  }

 private:
  static constexpr int64_t kReleasedAtOnce = 1 << 24;

  const files::MappedFile& file_;
  int64_t done_ = 0;
};

constexpr int64_t kNarrowVocabulary = int64_t{1} << 16;

int WidthOf(const job::ModelShape& model) { return model.vocab <= kNarrowVocabulary ? 2 : 4; }

// What makes rows tokens.
struct RowTokenizer {
  std::unique_ptr<Tokenizer> tokenizer;
  BoundaryTokens boundary;
  ReadRow read;

  RowCollector Collector(const Source& source) const {
    return RowCollector(*tokenizer, boundary, source.model.vocab, source.max_seq_length,
                        {.folder = source.cache_folder, .width_bytes = WidthOf(source.model)});
  }
};

base::Result<RowTokenizer> RowTokenizerOf(const Source& source, const PictureSource& pictures) {
  RowTokenizer made;
  auto tokenizer = TokenizerOf(source);
  if (!tokenizer) return tokenizer.error();
  made.tokenizer = std::move(*tokenizer);
  auto boundary = ReadBoundaryTokens(*made.tokenizer, source.model, source.model_directory);
  if (!boundary) return boundary.error();
  made.boundary = std::move(*boundary);
  const auto placeholders = PlaceholdersOf(source.data, source.model);
  if (!placeholders) return placeholders.error();
  auto read = RowReaderOf(source.data, *made.tokenizer, made.boundary, source.model_directory,
                          {pictures, *placeholders});
  if (!read) return read.error();
  made.read = std::move(*read);
  return made;
}

// Threads that pictures within tables are spooled by: more would hold more of them, and wait for
// the one that reads.
constexpr int kMostSpoolingThreads = 4;

// Rows that cut puts, on several threads.
template <class Cut>
base::Result<Tokenized> TokenizeChunks(const Source& source, const PictureSource& pictures,
                                       const RowProgress& progress, const Cut& cut) {
  const auto made = RowTokenizerOf(source, pictures);
  if (!made) return made.error();
  RowCollector rows = made->Collector(source);
  RowPipeline pipeline(
      made->read, &rows,
      {.most_rows = source.data.max_rows.value_or(INT64_MAX),
       .threads = std::min(TokenizingThreads(), pictures.spool != nullptr ? kMostSpoolingThreads
                                                                          : kMostTokenizingThreads),
       .progress = progress});
  const base::Status all = cut([&](RowChunk chunk) { return pipeline.Put(std::move(chunk)); });
  if (auto finished = pipeline.Finish(); !finished) return finished.error();
  if (!all && rows.count() < source.data.max_rows.value_or(INT64_MAX)) return all.error();
  return rows.Take();
}

// The first rows of a list: row by row on this thread.
base::Result<Tokenized> TokenizeFirst(const files::MappedFile& file, const Source& source,
                                      const RowProgress& progress) {
  const auto made = RowTokenizerOf(source, {file.path()});
  if (!made) return made.error();
  RowCollector rows = made->Collector(source);
  const auto add = [&](const files::JsonObject& row) { return made->read(row, &rows); };
  const auto count = ReadJsonRows(file.text(), file.path(), source.data.max_rows, add, progress);
  if (!count) return count.error();
  return rows.Take();
}

bool IsList(const files::MappedFile& file) {
  return !IsNamedAsCsv(file.path()) && IsJsonList(file.text());
}

base::Result<Tokenized> TokenizeText(const files::MappedFile& file, const Source& source) {
  ReleasedPart released(file);
  const auto told = [&](int64_t done_bytes) {
    released.To(done_bytes);
    source.progress(done_bytes);
  };
  const PictureSource pictures{file.path()};
  if (IsList(file)) {
    return TokenizeChunks(source, pictures, told, [&](const PutChunk& put) -> base::Status {
      CutJsonList(file.text(), file.path(), put);
      return base::Ok{};
    });
  }
  const auto lines = OpenRowLines(file.text(), file.path());
  if (!lines) return lines.error();
  return TokenizeChunks(source, pictures, told, [&](const PutChunk& put) -> base::Status {
    CutLines(**lines, file.path(), put);
    return base::Ok{};
  });
}

// That of pictures within tables; null: there are none.
std::shared_ptr<PictureSpool> SpoolOf(const Source& source) {
  if (source.data.format != job::DataFormat::kCaptions) return nullptr;
  return std::make_shared<PictureSpool>(source.cache_folder);
}

base::Result<Tokenized> TokenizeTables(const DataFiles& tables, const Source& source) {
  auto spool = SpoolOf(source);
  auto made = TokenizeChunks(
      source, {tables.paths.front(), spool.get()}, source.progress,
      [&](const PutChunk& put) { return CutTables(tables.paths, source.data, put); });
  if (made) made->pictures.spool = std::move(spool);
  return made;
}

base::Result<SampledContent> SampleList(const files::MappedFile& file, const SampleSize& size,
                                        const Source& source) {
  file.AdviseSequential();
  job::DataSpec first_rows = source.data;
  first_rows.max_rows = size.first_rows;
  int64_t read_bytes = 0;
  const RowProgress count = [&](int64_t done_bytes) { read_bytes = done_bytes; };
  auto tokens =
      TokenizeFirst(file,
                    {first_rows, source.model, source.model_directory, source.max_seq_length,
                     source.digest, source.cache_folder, count, source.files, source.talk},
                    count);
  if (!tokens) return tokens.error();
  const bool is_all = std::ssize(tokens->rows) < size.first_rows;
  const double share = static_cast<double>(read_bytes) / static_cast<double>(file.text().size());
  return SampledContent{std::move(*tokens), is_all ? 1 : share};
}

base::Result<SampledContent> SampleLineContent(const files::MappedFile& file,
                                               const SampleSize& size, const Source& source) {
  const auto lines = OpenRowLines(file.text(), file.path());
  if (!lines) return lines.error();
  double share = 1;
  auto tokens = TokenizeChunks(source, {file.path()}, {}, [&](const PutChunk& put) -> base::Status {
    share = SampleLines(**lines, file.path(), size, put);
    return base::Ok{};
  });
  if (!tokens) return tokens.error();
  return SampledContent{std::move(*tokens), share};
}

base::Result<SampledContent> SampleTableContent(const DataFiles& tables, const SampleSize& size,
                                                const Source& source) {
  auto spool = SpoolOf(source);
  const PictureSource pictures{tables.paths.front(), spool.get()};
  double share = 1;
  auto tokens = TokenizeChunks(source, pictures, {}, [&](const PutChunk& put) -> base::Status {
    const auto put_share = SampleTables(tables, source.data, size, put);
    if (!put_share) return put_share.error();
    share = *put_share;
    return base::Ok{};
  });
  if (!tokens) return tokens.error();
  tokens->pictures.spool = std::move(spool);
  return SampledContent{std::move(*tokens), share};
}

base::Result<Tokenized> TokenizePlain(const files::MappedFile& file, const Source& source) {
  if (file.text().size() > kMaxTextBytes) {
    return InvalidText(
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
  if (!known) return InvalidText(file.path() + ": " + known.error().message);
  std::vector<Row> rows = CutRows(static_cast<int64_t>(ids.size()), source);
  return Tokenized{TokenStore(std::move(ids)), std::move(rows), {}};
}

// Counts this program's changes of prompts, templates, tokenizers and the rule of bos and eos.
// Another number wherever rows become other tokens, or are refused, than before.
constexpr int kRulesOfRows = 10;

// Everything that the tokens depend on.
std::string CacheKey(const Source& source) {
  std::string key = std::to_string(kRulesOfRows) + " " + source.digest;
  const auto add = [&](const auto& value) { key += " " + std::to_string(value); };
  add(static_cast<int>(source.data.format));
  add(source.data.chat_template ? static_cast<int>(*source.data.chat_template) : -1);
  add(source.data.max_rows.value_or(-1));
  add(static_cast<int>(source.data.mask_prompt));
  add(source.max_seq_length);
  add(source.model.vocab);
  add(source.model.bos_token);
  add(source.model.eos_token);
  for (const auto& [name, column] : source.data.columns) {
    add(column.size());
    key += " " + name + " " + column;
  }
  const fs::path path = source.files.paths().front();
  add(static_cast<int>(IsNamedAsCsv(path.native())));
  if (source.model.image) {
    add(source.model.image->token);
    add(source.model.image->queries);
    add(path.parent_path().native().size());
    key += " " + path.parent_path().native();                 // where the rows' pictures lie
    for (const std::string& within : source.files.paths()) {  // or in these
      add(within.size());
      key += " " + within;
    }
  }
  const auto add_file = [&](const std::string& name) {
    const auto file = files::MappedFile::Open(source.model_directory + "/" + name);
    key += file ? " " + files::Digest(file->bytes()) : std::string(" -");
  };
  for (const char* name :
       {"tokenizer.json", "tokenizer.model", "vocab.json", "merges.txt", "tokenizer_config.json",
        "special_tokens_map.json", "added_tokens.json", "chat_template.jinja"})
    add_file(name);
  // Its model_type tells how vocab.json cuts a text.
  if (!files::HasFile(source.model_directory, "tokenizer.json")) add_file("config.json");
  return key;
}

base::Result<Tokenized> Released(base::Result<Tokenized> made) {
  if (made) made->tokens.Release();
  return made;
}

// What the cache holds, else what make(source) gives, which is kept there.
template <class Make>
base::Result<Tokenized> Cached(const Source& source, const Make& make) {
  if (source.cache_folder.empty()) return Released(make(source));
  const std::string key = CacheKey(source);
  const auto find = [&] { return FindCachedTokens(source.cache_folder, key, source.model.vocab); };
  if (auto cached = find()) return std::move(*cached);
  const CacheTurn turn(CachedTokensPath(source.cache_folder, key), source.progress, source.talk);
  if (auto cached = find()) return std::move(*cached);
  const RowProgress told = [&](int64_t done_bytes) {
    turn.Tell(done_bytes);
    source.progress(done_bytes);
  };
  base::Result<Tokenized> made =
      make({source.data, source.model, source.model_directory, source.max_seq_length, source.digest,
            source.cache_folder, told, source.files, source.talk});
  if (!made) return made.error();
  // Else tokens of other bytes would be kept under these bytes' digest.
  if (auto same = source.files.CheckUnchanged(); !same) return same.error();
  if (!made->rows.empty()) CacheTokens(source.cache_folder, key, &*made);
  return Released(std::move(made));
}

}  // namespace

std::vector<Row> CutRows(int64_t tokens, const Source& source) {
  std::vector<Row> rows;
  const int64_t most = source.data.max_rows.value_or(INT64_MAX);
  for (int64_t begin = 0; begin + 1 < tokens && static_cast<int64_t>(rows.size()) < most;
       begin += source.max_seq_length) {
    rows.push_back({begin, std::min(source.max_seq_length, tokens - begin), 0});
  }
  return rows;
}

base::Result<Tokenized> ReadTextContent(const files::MappedFile& file, const Source& source) {
  return Cached(source, [&](const Source& told) {
    return told.data.format == job::DataFormat::kPlain ? TokenizePlain(file, told)
                                                       : TokenizeText(file, told);
  });
}

base::Result<Tokenized> ReadTableContent(const DataFiles& tables, const Source& source) {
  return Cached(source, [&](const Source& told) { return TokenizeTables(tables, told); });
}

base::Result<SampledContent> SampleContent(const DataFiles& data_files,
                                           const files::MappedFile& first, const SampleSize& size,
                                           const Source& source) {
  if (source.data.max_rows.value_or(INT64_MAX) <= size.first_rows) {
    auto all =
        data_files.are_tables ? TokenizeTables(data_files, source) : TokenizeText(first, source);
    if (!all) return all.error();
    return SampledContent{std::move(*all)};
  }
  if (data_files.are_tables) return SampleTableContent(data_files, size, source);
  return IsList(first) ? SampleList(first, size, source) : SampleLineContent(first, size, source);
}

}  // namespace trainctl::data
