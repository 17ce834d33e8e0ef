#include "worker/rank/data/token_cache.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "worker/rank/files/digest.h"
#include "worker/rank/files/mapped_file.h"

namespace trainctl::data {
namespace {

namespace fs = std::filesystem;
using Bytes = std::span<const std::byte>;
using MappedFilePtr = std::shared_ptr<const files::MappedFile>;

constexpr char kMagic[] = "TRAINCTL TOKENS3";
constexpr char kSuffix[] = ".tokens";
constexpr uint64_t kMostCount = uint64_t{1} << 40;
constexpr int64_t kRowBytes = 3 * sizeof(int64_t), kSpanBytes = 2 * sizeof(int64_t);
constexpr size_t kReadAtOnce = 4 << 20;
constexpr auto kDeadSpool = std::chrono::hours(24);  // untouched for so long

struct Header {
  char magic[16];
  uint64_t key_bytes, rows, spans, tokens, width_bytes, digest;
};

static_assert(sizeof(Row) == kRowBytes);  // is written as it is
static_assert(sizeof(TokenSpan) == kSpanBytes);
static_assert(sizeof(Header) == SpoolFile::kHeadBytes);

uint64_t Padded(uint64_t bytes) { return (bytes + 7) / 8 * 8; }

// Where the parts of a file begin.
struct Places {
  uint64_t tokens, rows, spans, key, end;
};

Places PlacesOf(const Header& header) {
  Places places = {.tokens = sizeof header};
  places.rows = places.tokens + Padded(header.tokens * header.width_bytes);
  places.spans = places.rows + header.rows * kRowBytes;
  places.key = places.spans + header.spans * kSpanBytes;
  places.end = places.key + header.key_bytes;
  return places;
}

bool IsReadable(const Header& header, const std::string& key, uint64_t file_bytes) {
  return std::memcmp(header.magic, kMagic, sizeof header.magic) == 0 &&
         header.key_bytes == key.size() &&
         std::max({header.rows, header.spans, header.tokens}) <= kMostCount &&
         (header.width_bytes == sizeof(uint16_t) || header.width_bytes == sizeof(int32_t)) &&
         PlacesOf(header).end == file_bytes;
}

template <class Token>
bool AreBelow(Bytes bytes, int64_t vocab) {
  const std::span tokens(reinterpret_cast<const Token*>(bytes.data()),
                         bytes.size() / sizeof(Token));
  return std::ranges::all_of(tokens, [vocab](int64_t id) { return id >= 0 && id < vocab; });
}

// Reads all behind the header once, and leaves none of it resident.
bool IsWhole(const files::MappedFile& file, const Header& header, int64_t vocab) {
  const uint64_t tokens_end = sizeof header + header.tokens * header.width_bytes;
  files::Xxh64Stream digest;
  for (uint64_t at = sizeof header; at < file.bytes().size();) {
    const Bytes part = file.bytes().subspan(at, std::min(kReadAtOnce, file.bytes().size() - at));
    digest.Update(part);
    const Bytes tokens =
        at < tokens_end ? part.first(std::min<uint64_t>(part.size(), tokens_end - at)) : Bytes();
    const bool below = header.width_bytes == sizeof(uint16_t) ? AreBelow<uint16_t>(tokens, vocab)
                                                              : AreBelow<int32_t>(tokens, vocab);
    file.Release(part);
    if (!below) return false;
    at += part.size();
  }
  return digest.Value() == header.digest;
}

bool IsInRange(const Tokenized& cached) {
  const int64_t tokens = cached.tokens.size();
  const auto inside = [&](const Row& row) {
    return row.begin >= 0 && row.length > 0 && row.ignored >= 0 && row.ignored <= row.length &&
           row.begin <= tokens - row.length;
  };
  if (!std::ranges::all_of(cached.rows, inside)) return false;
  for (int64_t done = 0; const TokenSpan& span : cached.ignored) {
    if (span.begin < done || span.end <= span.begin || span.end > tokens) return false;
    done = span.end;
  }
  return true;
}

template <class T>
KeptList<T> ListIn(const MappedFilePtr& file, uint64_t begin, uint64_t count) {
  const auto* items = reinterpret_cast<const T*>(file->bytes().data() + begin);
  return {file, std::span(items, count)};
}

Tokenized TokensIn(const MappedFilePtr& file, const Header& header) {
  const Places places = PlacesOf(header);
  return {.tokens =
              TokenStore(file, static_cast<int64_t>(places.tokens),
                         static_cast<int>(header.width_bytes), static_cast<int64_t>(header.tokens)),
          .rows = ListIn<Row>(file, places.rows, header.rows),
          .ignored = ListIn<TokenSpan>(file, places.spans, header.spans)};
}

// Those that go first are the last.
void Trim(const std::string& folder) {
  struct Set {
    fs::file_time_type used;
    fs::path path;
    int64_t bytes;
  };
  std::vector<Set> sets;
  std::error_code error, ignored;
  const auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto used = entry->last_write_time(ignored);
    if (entry->path().extension() == kSuffix)
      sets.push_back({used, entry->path(), static_cast<int64_t>(entry->file_size(ignored))});
    if (entry->path().filename().string().starts_with(kSpoolPrefix) && now - used > kDeadSpool)
      fs::remove(entry->path(), ignored);
  }
  std::ranges::sort(sets, std::ranges::greater(), &Set::used);
  int64_t bytes = 0;
  for (size_t i = 0; i < sets.size(); ++i) {
    bytes += sets[i].bytes;
    if (i >= kMostCachedSets || (i > 0 && bytes > kMostCachedBytes))
      fs::remove(sets[i].path, ignored);
  }
}

// What follows the tokens, behind them. False: it cannot be written.
bool AppendRest(const Tokenized& made, const std::string& key, SpoolFile* file) {
  const std::vector<std::byte> padding(Padded(made.tokens.bytes().size()) -
                                       made.tokens.bytes().size());
  for (const Bytes part : {Bytes(padding), std::as_bytes(made.rows.all()),
                           std::as_bytes(made.ignored.all()), std::as_bytes(std::span(key))}) {
    if (!file->Append(part)) return false;
  }
  return true;
}

}  // namespace

std::string CachedTokensPath(const std::string& folder, const std::string& key) {
  std::string digest = files::Digest(std::as_bytes(std::span(key)));
  return folder + "/" + digest.substr(digest.find(':') + 1) + kSuffix;
}

std::optional<Tokenized> FindCachedTokens(const std::string& folder, const std::string& key,
                                          int64_t vocab) {
  const std::string path = CachedTokensPath(folder, key);
  auto opened = files::MappedFile::Open(path);
  if (!opened) return std::nullopt;
  const auto file = std::make_shared<const files::MappedFile>(std::move(*opened));
  const Bytes bytes = file->bytes();
  Header header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (!IsReadable(header, key, bytes.size())) return std::nullopt;
  if (std::memcmp(bytes.data() + PlacesOf(header).key, key.data(), key.size()) != 0)
    return std::nullopt;
  if (!IsWhole(*file, header, vocab)) return std::nullopt;
  Tokenized cached = TokensIn(file, header);
  if (!IsInRange(cached)) return std::nullopt;
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);  // was used
  return cached;
}

void CacheTokens(const std::string& folder, const std::string& key, Tokenized* made) {
  SpoolFile own;
  const bool is_there = made->file.is_open();
  SpoolFile& file = is_there ? made->file : own;
  if (!is_there && (!file.Open(folder) || !file.Append(made->tokens.bytes()))) return;
  if (!AppendRest(*made, key, &file)) return;
  Header header{.magic = {},
                .key_bytes = key.size(),
                .rows = made->rows.size(),
                .spans = made->ignored.size(),
                .tokens = static_cast<uint64_t>(made->tokens.size()),
                .width_bytes = static_cast<uint64_t>(made->tokens.width_bytes()),
                .digest = file.digest().Value()};
  std::memcpy(header.magic, kMagic, sizeof header.magic);
  if (!file.Publish(std::as_bytes(std::span(&header, 1)), CachedTokensPath(folder, key))) return;
  if (auto mapped = file.Map(); mapped && is_there)
    *made = TokensIn(std::make_shared<const files::MappedFile>(std::move(*mapped)), header);
  Trim(folder);
}

}  // namespace trainctl::data
