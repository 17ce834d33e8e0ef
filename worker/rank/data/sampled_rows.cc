#include "worker/rank/data/sampled_rows.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "worker/rank/data/table_rows.h"
#include "worker/rank/files/mapped_file.h"
#include "worker/rank/tables/table.h"

namespace trainctl::data {
namespace {

int64_t BytesOf(const nlohmann::json& value) {
  if (value.is_string()) return std::ssize(value.get_ref<const std::string&>());
  if (value.is_binary()) return std::ssize(value.get_binary());
  int64_t bytes = 0;
  if (value.is_structured()) {
    for (const nlohmann::json& part : value) bytes += BytesOf(part);
  }
  return bytes;
}

int64_t FileBytes(const std::string& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<int64_t>(bytes);
}

constexpr size_t kAroundPlace = 64 << 10;  // where its rows begin and end; few are longer

void ReadSoon(std::string_view text, size_t begin, size_t bytes) {
  files::ReadSoon(std::as_bytes(std::span(text.substr(begin, bytes + kAroundPlace))));
}

// What was put of some files, and what these hold.
struct TableCounts {
  int64_t put_rows = 0;
  double all_rows = 0;
  int64_t file_bytes = 0;
};

// Puts rows of one place. False: no more are wanted.
class TableSampler {
 public:
  TableSampler(const job::DataSpec& data, const SampleSize& size, const PutChunk& put)
      : data_(data), size_(size), put_(put) {}

  // begin: a share of the file's row groups. Others begin at 0 once.
  base::Result<bool> Sample(const std::string& path, double begin) {
    auto table = OpenTableOf(path, data_, begin);
    if (!table) return table.error();
    int64_t rows = 0, bytes = 0, done_bytes = 0;
    while (rows < size_.rows_of_place && bytes < size_.bytes_of_place) {
      auto next = (*table)->Next();
      if (!next) return next.error();
      if (next->rows.empty()) break;
      const std::string place = path + ": " + next->place;
      if (rows == 0 && !places_.insert(place).second) return true;  // was there before
      rows += std::ssize(next->rows);
      done_bytes = next->done_bytes;
      for (const nlohmann::json& row : next->rows) bytes += BytesOf(row);
      if (!put_(ChunkOf(std::move(*next), path, 0))) return false;
    }
    Count(path, rows, (*table)->all_rows(), done_bytes);
    return true;
  }

  const TableCounts& counts() const { return counts_; }

 private:
  void Count(const std::string& path, int64_t rows, int64_t all_rows, int64_t done_bytes) {
    const int64_t bytes = FileBytes(path);
    counts_.put_rows += rows;
    if (!files_.insert(path).second) return;
    counts_.file_bytes += bytes;
    const double reckoned = static_cast<double>(rows) * static_cast<double>(bytes) /
                            static_cast<double>(std::max<int64_t>(done_bytes, 1));
    counts_.all_rows += all_rows >= 0 ? static_cast<double>(all_rows) : reckoned;
  }

  const job::DataSpec& data_;
  const SampleSize& size_;
  const PutChunk& put_;
  std::set<std::string> places_, files_;
  TableCounts counts_;
};

}  // namespace

double SampleLines(const RowLines& lines, const std::string& source, const SampleSize& size,
                   const PutChunk& put) {
  const std::string_view text = lines.text();
  if (text.empty()) return 1;
  const size_t step = text.size() / static_cast<size_t>(size.places);
  size_t sampled = 0, end = 0;
  for (size_t place = 0; place < static_cast<size_t>(size.places); ++place) {
    ReadSoon(text, place * step, static_cast<size_t>(size.bytes_of_place));
    const size_t begin = place == 0 ? 0 : std::max(end, lines.BeginBehind(place * step));
    if (begin >= text.size()) break;
    end = lines.EndOf(begin, static_cast<size_t>(size.bytes_of_place));
    const std::string_view part = text.substr(begin, end - begin);
    sampled += part.size();
    const std::string name =
        place == 0 ? source : source + ": from byte " + std::to_string(lines.head_bytes() + begin);
    const int64_t line = place == 0 ? lines.first_line() : 1;
    const auto read = [&lines, part, name, line](const TakeRow& take) {
      return lines.Read(part, name, line, take);
    };
    if (!put({read, static_cast<int64_t>(sampled)})) break;
  }
  return static_cast<double>(sampled) / static_cast<double>(text.size());
}

base::Result<double> SampleTables(const DataFiles& files, const job::DataSpec& data,
                                  const SampleSize& size, const PutChunk& put) {
  TableSampler sampler(data, size, put);
  const int64_t count = std::ssize(files.paths);
  for (int64_t place = 0; place < size.places; ++place) {
    const std::string& path = files.paths[static_cast<size_t>(place * count / size.places)];
    const double begin =
        static_cast<double>(place * count % size.places) / static_cast<double>(size.places);
    const auto more = sampler.Sample(path, begin);
    if (!more) return more.error();
    if (!*more) break;
  }
  const TableCounts& counts = sampler.counts();
  int64_t bytes = 0;
  for (const std::string& path : files.paths) bytes += FileBytes(path);
  const double all_rows = counts.all_rows * static_cast<double>(bytes) /
                          static_cast<double>(std::max<int64_t>(counts.file_bytes, 1));
  return all_rows > 0 ? std::min(1.0, static_cast<double>(counts.put_rows) / all_rows) : 1.0;
}

}  // namespace trainctl::data
