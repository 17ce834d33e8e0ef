#include "worker/rank/data/shard_names.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>

#include "common/base/parse_number.h"

namespace trainctl::data {
namespace {

constexpr std::string_view kOf = "-of-";
constexpr std::string_view kSplits[] = {"train", "training", "test", "testing",    "validation",
                                        "valid", "val",      "dev",  "evaluation", "eval"};

struct Shard {
  std::string split;    // "": the name tells none
  int64_t number = -1;  // −1: the name has none
  int64_t count = 0;    // of the split
  std::string name;
};

base::Error BadNames(const std::string& message) { return {base::Code::kInvalid, message}; }

// The digits before end.
std::string_view DigitsBefore(std::string_view name, size_t end) {
  size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(name[begin - 1])) != 0) --begin;
  return name.substr(begin, end - begin);
}

// "train-00000-of-00003" and with "-0f3e…" behind it; nullopt: another name.
std::optional<Shard> NumberedShard(std::string_view stem) {
  const size_t of = stem.rfind(kOf);
  if (of == std::string_view::npos) return std::nullopt;
  const std::string_view digits = DigitsBefore(stem, of);
  const std::string_view behind = stem.substr(of + kOf.size());
  const auto number = base::ParseNumber(digits);
  const auto count = base::ParseNumber(behind.substr(0, behind.find('-')));
  const size_t dash = of - digits.size();
  if (!number || !count || dash == 0 || stem[dash - 1] != '-') return std::nullopt;
  return Shard{.split = std::string(stem.substr(0, dash - 1)),
               .number = *number,
               .count = *count,
               .name = {}};
}

// The first word that is a split's; "": none is.
std::string SplitIn(std::string_view stem) {
  for (size_t begin = 0; begin < stem.size();) {
    const size_t end = std::min(stem.find_first_of("-_. ", begin), stem.size());
    const std::string_view word = stem.substr(begin, end - begin);
    if (std::ranges::count(kSplits, word) > 0) return std::string(word);
    begin = end + 1;
  }
  return "";
}

Shard ShardOf(const std::string& path) {
  const std::filesystem::path file(path);
  const std::string stem = file.stem().string();
  Shard shard = NumberedShard(stem).value_or(Shard{.split = SplitIn(stem), .name = {}});
  shard.name = file.filename().string();
  return shard;
}

// Of one split, by number, which count from 0 or from 1.
base::Status CheckNumbers(const std::string& folder, const std::vector<Shard>& shards) {
  const std::string place = folder + ": split '" + shards[0].split + "': ";
  const int64_t first = shards[0].number > 0 && shards.back().number == shards[0].count ? 1 : 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    const Shard& shard = shards[i];
    const int64_t expected = first + static_cast<int64_t>(i);
    if (shard.count != shards[0].count)
      return BadNames(place + shards[0].name + " and " + shard.name + " are of different counts");
    if (shard.number < expected)
      return BadNames(place + shards[i - 1].name + " and " + shard.name + " have one number");
    if (shard.number > expected) {
      return BadNames(place + shard.name + " is there, number " + std::to_string(expected) +
                      " is missing");
    }
  }
  if (std::ssize(shards) == shards[0].count) return base::Ok{};
  return BadNames(place + std::to_string(shards.size()) + " files, expected " +
                  std::to_string(shards[0].count));
}

base::Error SeveralSplits(const std::string& folder,
                          const std::map<std::string, std::vector<Shard>>& splits) {
  std::string names;
  for (const auto& [split, shards] : splits)
    names += (names.empty() ? "'" : ", '") + (split.empty() ? shards[0].name : split) + "'";
  return BadNames(folder + ": has several splits, " + names +
                  "; expected one: data.split names it");
}

}  // namespace

bool IsOfSplit(const std::string& path, const std::string& split) {
  return ShardOf(path).split == split || std::filesystem::path(path).stem().string() == split;
}

base::Status CheckShards(const std::string& folder, const std::vector<std::string>& paths) {
  std::map<std::string, std::vector<Shard>> splits;
  for (const std::string& path : paths) {
    Shard shard = ShardOf(path);
    splits[shard.split].push_back(std::move(shard));
  }
  if (splits.size() > 1) return SeveralSplits(folder, splits);
  std::vector<Shard>& shards = splits.begin()->second;
  std::ranges::stable_sort(shards, {}, &Shard::number);
  return shards.back().number < 0 ? base::Status(base::Ok{}) : CheckNumbers(folder, shards);
}

}  // namespace trainctl::data
