#include "worker/rank/data/token_cache.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <utility>

#include "worker/rank/files/digest.h"
#include "worker/rank/files/mapped_file.h"

namespace trainctl::data {
namespace {

namespace fs = std::filesystem;
using Bytes = std::span<const std::byte>;
using MappedFilePtr = std::shared_ptr<const files::MappedFile>;

constexpr char kMagic[] = "TRAINCTL TOKENS6";
constexpr char kSuffix[] = ".tokens", kPicturesSuffix[] = ".pictures";
constexpr uint64_t kMostCount = uint64_t{1} << 40;
constexpr int64_t kRowBytes = 3 * sizeof(int64_t), kSpanBytes = 2 * sizeof(int64_t),
                  kPictureBytes = 4 * sizeof(int64_t);
constexpr size_t kReadAtOnce = 4 << 20;
constexpr auto kDead = std::chrono::hours(24);  // what nothing names, untouched for so long

struct Header {
  char magic[16];
  uint64_t key_bytes, rows, spans, tokens, width_bytes, pictures, name_bytes, picture_file, digest;
};

static_assert(sizeof(Row) == kRowBytes);  // is written as it is
static_assert(sizeof(TokenSpan) == kSpanBytes);
static_assert(sizeof(PictureEntry) == kPictureBytes);
static_assert(sizeof(Header) == SpoolFile::kHeadBytes);

uint64_t Padded(uint64_t bytes) { return (bytes + 7) / 8 * 8; }

// Where the parts of a file begin.
struct Places {
  uint64_t tokens, rows, spans, pictures, names, key, end;
};

Places PlacesOf(const Header& header) {
  Places places = {.tokens = sizeof header};
  places.rows = places.tokens + Padded(header.tokens * header.width_bytes);
  places.spans = places.rows + header.rows * kRowBytes;
  places.pictures = places.spans + header.spans * kSpanBytes;
  places.names = places.pictures + header.pictures * kPictureBytes;
  places.key = places.names + header.name_bytes;
  places.end = places.key + header.key_bytes;
  return places;
}

bool IsReadable(const Header& header, const std::string& key, uint64_t file_bytes) {
  return std::memcmp(header.magic, kMagic, sizeof header.magic) == 0 &&
         header.key_bytes == key.size() &&
         std::max({header.rows, header.spans, header.tokens, header.name_bytes}) <= kMostCount &&
         (header.pictures == 0 || header.pictures == header.rows) &&
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
  return cached.pictures.IsWhole();
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
          .ignored = ListIn<TokenSpan>(file, places.spans, header.spans),
          .pictures = {ListIn<PictureEntry>(file, places.pictures, header.pictures),
                       ListIn<char>(file, places.names, header.name_bytes)}};
}

std::string PicturesPath(const std::string& tokens_path, uint64_t which) {
  const std::string stem = fs::path(tokens_path).replace_extension();
  return stem + "-" + std::to_string(which) + kPicturesSuffix;
}

// Of the file that has that name in the cache; 0: none.
uint64_t PictureFileOf(const std::string& tokens_path) {
  Header header = {};
  std::ifstream file(tokens_path, std::ios::binary);
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  const bool is_header = file && std::memcmp(header.magic, kMagic, sizeof header.magic) == 0;
  return is_header ? header.picture_file : 0;
}

struct CachedSet {
  fs::file_time_type used;
  std::vector<fs::path> files = {};
  int64_t bytes = 0;

  void Add(const fs::path& path) {
    std::error_code error;
    const auto size = fs::file_size(path, error);
    if (error) return;
    files.push_back(path);
    bytes += static_cast<int64_t>(size);
  }
};

// Those used last are the first.
std::vector<CachedSet> SetsIn(const std::vector<fs::directory_entry>& entries) {
  std::vector<CachedSet> sets;
  std::error_code ignored;
  for (const fs::directory_entry& entry : entries) {
    if (entry.path().extension() != kSuffix) continue;
    CachedSet set{entry.last_write_time(ignored)};
    set.Add(entry.path());
    if (const uint64_t which = PictureFileOf(entry.path()))
      set.Add(PicturesPath(entry.path(), which));
    sets.push_back(std::move(set));
  }
  std::ranges::sort(sets, std::ranges::greater(), &CachedSet::used);
  return sets;
}

// Sets that go first are the last. What belongs to none goes too, once nobody can be at work on it.
void Trim(const std::string& folder) {
  std::error_code error, ignored;
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    entries.push_back(*entry);
  std::set<fs::path> kept;
  int64_t bytes = 0;
  size_t count = 0;
  for (const CachedSet& set : SetsIn(entries)) {
    bytes += set.bytes;
    const bool stays = ++count == 1 || (count <= kMostCachedSets && bytes <= kMostCachedBytes);
    for (const fs::path& file : set.files) {
      if (stays)
        kept.insert(file);
      else
        fs::remove(file, ignored);
    }
  }
  const auto now = fs::file_time_type::clock::now();
  for (const fs::directory_entry& entry : entries) {
    const bool is_left = entry.path().filename().string().starts_with(kSpoolPrefix) ||
                         (entry.path().extension() == kPicturesSuffix && !kept.contains(entry));
    if (is_left && now - entry.last_write_time(ignored) > kDead) fs::remove(entry, ignored);
  }
}

// Into the cache, beside the tokens of that path: which file they are; 0: all pictures have one.
// nullopt: it cannot be done.
std::optional<uint64_t> KeepPictures(const PictureList& pictures, const std::string& tokens_path) {
  if (pictures.spool == nullptr || pictures.spool->bytes() == 0) return 0;
  std::random_device random;
  const uint64_t which = (uint64_t{random()} << 32 | random()) | 1;  // never 0
  if (!pictures.spool->Publish(PicturesPath(tokens_path, which))) return std::nullopt;
  return which;
}

// What follows the tokens, behind them. False: it cannot be written.
bool AppendRest(const Tokenized& made, const std::string& key, SpoolFile* file) {
  const std::vector<std::byte> padding(Padded(made.tokens.bytes().size()) -
                                       made.tokens.bytes().size());
  for (const Bytes part :
       {Bytes(padding), std::as_bytes(made.rows.all()), std::as_bytes(made.ignored.all()),
        std::as_bytes(made.pictures.entries.all()), std::as_bytes(made.pictures.names.all()),
        std::as_bytes(std::span(key))}) {
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
  if (header.picture_file != 0) {
    cached.pictures.spool = PictureSpool::OfFile(PicturesPath(path, header.picture_file));
    if (cached.pictures.spool == nullptr) return std::nullopt;
  }
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
  const std::string path = CachedTokensPath(folder, key);
  const auto picture_file = KeepPictures(made->pictures, path);
  if (!picture_file) return;
  Header header{.magic = {},
                .key_bytes = key.size(),
                .rows = made->rows.size(),
                .spans = made->ignored.size(),
                .tokens = static_cast<uint64_t>(made->tokens.size()),
                .width_bytes = static_cast<uint64_t>(made->tokens.width_bytes()),
                .pictures = made->pictures.entries.size(),
                .name_bytes = made->pictures.names.size(),
                .picture_file = *picture_file,
                .digest = file.digest().Value()};
  std::memcpy(header.magic, kMagic, sizeof header.magic);
  if (!file.Publish(std::as_bytes(std::span(&header, 1)), path)) return;
  if (auto mapped = file.Map(); mapped && is_there) {
    auto spool = std::move(made->pictures.spool);
    *made = TokensIn(std::make_shared<const files::MappedFile>(std::move(*mapped)), header);
    made->pictures.spool = std::move(spool);
  }
  Trim(folder);
}

}  // namespace trainctl::data
