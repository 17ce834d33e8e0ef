// What a data set costs: a dry run's look at it, its first load, which fills a cache of its own,
// and the next one. Of each the seconds and, up to its end, the most memory that this process held.
//   data_bench MODEL FORMAT PATH [CACHE]
// MODEL is a folder of a model's, with its tokenizer; FORMAT as data.format. CACHE: a folder that
// is kept; else one beside PATH, which is removed.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

#include "common/base/result.h"
#include "common/job/data_format.h"
#include "worker/rank/data/dataset.h"
#include "worker/rank/files/model_config.h"

namespace trainctl::bench {
namespace {

using Steady = std::chrono::steady_clock;

constexpr int64_t kMaxSeqLength = 512;

int64_t PeakMib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

template <class Load>
bool Time(const char* what, const Load& load) {
  const auto begin = Steady::now();
  const base::Result<data::Dataset> dataset = load();
  const std::chrono::duration<double> took = Steady::now() - begin;
  if (!dataset) {
    std::cerr << dataset.error().message << "\n";
    return false;
  }
  const auto rows = static_cast<int64_t>(dataset->rows.size());
  const std::string of =
      dataset->sample_of > 0 ? " of about " + std::to_string(dataset->sample_of) : "";
  std::printf("%-12s %9.2f s   %lld MiB at most   %lld rows%s, %lld tokens\n", what, took.count(),
              static_cast<long long>(PeakMib()), static_cast<long long>(rows), of.c_str(),
              static_cast<long long>(dataset->total_tokens));
  return true;
}

bool Run(const std::string& directory, const job::DataSpec& data, const std::string& cache) {
  const auto model = files::ReadModelConfig(directory);
  if (!model) {
    std::cerr << model.error().message << "\n";
    return false;
  }
  const auto load = [&] {
    return data::LoadDataset(data, *model, directory, kMaxSeqLength, cache);
  };
  return Time("dry run",
              [&] { return data::LoadSample(data, *model, directory, kMaxSeqLength, cache); }) &&
         Time("first load", load) && Time("next load", load);
}

}  // namespace
}  // namespace trainctl::bench

int main(int argc, char** argv) {
  using namespace trainctl;
  job::DataSpec data;
  bool known = false;
  for (const auto& [name, format] : job::kDataFormats) {
    if (argc > 2 && name == argv[2]) data.format = format, known = true;
  }
  if (argc < 4 || argc > 5 || !known) {
    std::cerr << "usage: data_bench MODEL FORMAT PATH [CACHE]\n";
    return 2;
  }
  data.path = argv[3];
  const std::string cache = argc > 4 ? argv[4] : data.path + ".cache";
  const bool done = bench::Run(argv[1], data, cache);
  if (argc == 4) std::filesystem::remove_all(cache);
  return done ? 0 : 1;
}
