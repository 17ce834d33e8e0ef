#include "worker/rank/data/token_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "worker/rank/files/digest.h"
#include "worker/rank/files/mapped_file.h"

namespace trainctl::data {
namespace {

namespace fs = std::filesystem;
using Bytes = std::span<const std::byte>;

constexpr char kMagic[] = "TRAINCTL TOKENS2";
constexpr char kSuffix[] = ".tokens";
constexpr uint64_t kMostCount = uint64_t{1} << 40;
constexpr int64_t kRowBytes = 3 * sizeof(int64_t), kSpanBytes = 2 * sizeof(int64_t);

struct Header {
  char magic[16];
  uint64_t key_bytes, rows, spans, tokens, digest;
};

static_assert(sizeof(Row) == kRowBytes);  // is written as it is
static_assert(sizeof(TokenSpan) == kSpanBytes);

uint64_t Padded(uint64_t bytes) { return (bytes + 7) / 8 * 8; }

bool IsInRange(const Tokenized& cached, int64_t vocab) {
  const TokenStore& tokens = cached.tokens;
  const auto inside = [&](const Row& row) {
    return row.begin >= 0 && row.length > 0 && row.ignored >= 0 && row.ignored <= row.length &&
           row.begin <= tokens.size() - row.length;
  };
  if (!std::ranges::all_of(cached.rows, inside)) return false;
  for (int64_t done = 0; const TokenSpan& span : cached.ignored) {
    if (span.begin < done || span.end <= span.begin || span.end > tokens.size()) return false;
    done = span.end;
  }
  for (int64_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= vocab) return false;
  }
  return true;
}

bool WriteAll(int fd, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

// memcpy takes no null, which an empty vector's data may be.
template <typename T>
std::vector<T> Copied(Bytes bytes) {
  std::vector<T> copy(bytes.size() / sizeof(T));
  if (!copy.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
  return copy;
}

// The least recently used go, and what was never finished.
void Trim(const std::string& folder) {
  std::vector<std::pair<fs::file_time_type, fs::path>> sets;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().extension() == kSuffix)
      sets.emplace_back(entry->last_write_time(ignored), entry->path());
  }
  std::ranges::sort(sets);
  for (size_t i = 0; i + kMostCachedSets < sets.size(); ++i) fs::remove(sets[i].second, error);
}

}  // namespace

std::string CachedTokensPath(const std::string& folder, const std::string& key) {
  std::string digest = files::Digest(std::as_bytes(std::span(key)));
  return folder + "/" + digest.substr(digest.find(':') + 1) + kSuffix;
}

std::optional<Tokenized> FindCachedTokens(const std::string& folder, const std::string& key,
                                          int64_t vocab) {
  const std::string path = CachedTokensPath(folder, key);
  auto file = files::MappedFile::Open(path);
  if (!file) return std::nullopt;
  const Bytes bytes = file->bytes();
  Header header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof header.magic) != 0 || header.key_bytes != key.size())
    return std::nullopt;
  if (std::max({header.rows, header.spans, header.tokens}) > kMostCount) return std::nullopt;
  const uint64_t rows_at = sizeof header + Padded(header.key_bytes),
                 spans_at = rows_at + header.rows * kRowBytes,
                 tokens_at = spans_at + header.spans * kSpanBytes;
  if (bytes.size() != tokens_at + header.tokens * sizeof(int32_t)) return std::nullopt;
  if (std::memcmp(bytes.data() + sizeof header, key.data(), key.size()) != 0) return std::nullopt;
  if (files::Xxh64(bytes.subspan(sizeof header)) != header.digest) return std::nullopt;
  Tokenized cached;
  cached.rows = Copied<Row>(bytes.subspan(rows_at, header.rows * kRowBytes));
  cached.ignored = Copied<TokenSpan>(bytes.subspan(spans_at, header.spans * kSpanBytes));
  cached.tokens =
      TokenStore(std::move(file).value(), static_cast<int64_t>(tokens_at), sizeof(int32_t));
  if (!IsInRange(cached, vocab)) return std::nullopt;
  cached.tokens.Release();
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);  // was used
  return cached;
}

void CacheTokens(const std::string& folder, const std::string& key, const Tokenized& made) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return;
  const std::string path = CachedTokensPath(folder, key),
                    temporary = path + "." + std::to_string(::getpid()) + ".writing";
  std::string padded_key = key;
  padded_key.resize(Padded(key.size()), '\0');
  const Bytes parts[] = {std::as_bytes(std::span(padded_key)), std::as_bytes(std::span(made.rows)),
                         std::as_bytes(std::span(made.ignored)), made.tokens.bytes()};
  Header header{.magic = {},
                .key_bytes = key.size(),
                .rows = made.rows.size(),
                .spans = made.ignored.size(),
                .tokens = static_cast<uint64_t>(made.tokens.size()),
                .digest = 0};
  std::memcpy(header.magic, kMagic, sizeof header.magic);
  files::Xxh64Stream digest;
  for (const Bytes part : parts) digest.Update(part);
  header.digest = digest.Value();
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return;
  bool written = WriteAll(fd, std::as_bytes(std::span(&header, 1)));
  for (const Bytes part : parts) written = written && WriteAll(fd, part);
  written = ::close(fd) == 0 && written;
  if (!written || std::rename(temporary.c_str(), path.c_str()) != 0) {
    ::unlink(temporary.c_str());
    return;
  }
  Trim(folder);
}

}  // namespace trainctl::data
