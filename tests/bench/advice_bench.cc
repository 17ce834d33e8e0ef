// How many ways of a job advise looks at in a second of CPU time: an OpenLLaMA-like 7B on 64 H200s,
// with all liberties.
//   advice_bench [global_batch_size=7680]
// The bar is 10,000 ways a second, which tests/bench/table marks where it is missed.
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "common/advice/way.h"

namespace trainctl::advice {
namespace {

Question LargeQuestion(int64_t global) {
  Question question{
      .devices = 64,
      .liberties = {Liberty::kLora, Liberty::kQlora, Liberty::kPrecision, Liberty::kOptimizer}};
  question.job.name = "seven";
  question.job.model.path = "/m";
  question.job.data.path = "/d";
  question.job.precision = job::Precision::kBf16True;
  question.job.train.global_batch_size = global;
  question.job.train.micro_batch_size = 4;
  question.job.train.max_seq_length = 512;
  question.inspection.rows = 52'000;
  question.inspection.longest_row = 512;
  question.inspection.total_tokens = 52'000 * 120;
  question.inspection.data_digest = "d";
  question.inspection.model = {.layers = 32,
                               .hidden = 4096,
                               .intermediate = 11008,
                               .heads = 32,
                               .kv_heads = 32,
                               .head_dim = 128,
                               .vocab = 32000,
                               .max_positions = 2048};
  question.device = {.kind = job::DeviceKind::kCuda,
                     .host = "h",
                     .name = "NVIDIA H200",
                     .memory_bytes = int64_t{139} << 30,
                     .compute_capability = "9.0"};
  return question;
}

int Main(int64_t global) {
  const Question question = LargeQuestion(global);
  const std::clock_t begin = std::clock();
  const base::Result<Ways> ways = FindWays(question);
  if (!ways.ok()) {
    std::fprintf(stderr, "advice_bench: %s\n", ways.error().message.c_str());
    return 1;
  }
  const std::vector<Way> front = ParetoFront(ways->fitting);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  const double rate = static_cast<double>(ways->considered) / seconds;
  std::printf("%lld ways, %zu fit, %zu in front: %.3f s of CPU, %.0f ways/s\n",
              static_cast<long long>(ways->considered), ways->fitting.size(), front.size(), seconds,
              rate);
  return 0;
}

}  // namespace
}  // namespace trainctl::advice

int main(int count, char** words) {
  return trainctl::advice::Main(count > 1 ? std::atoll(words[1]) : 7680);
}
