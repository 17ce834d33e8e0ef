// Tokens a second of one core: the tokenizer alone; the whole way that a data set goes (read JSON
// lines, tokenize, check, write the cache); and the same again from the cache.
//
// tokenizer_bench DIRECTORY_OF_A_TOKENIZER FILE.jsonl [ROWS]      (rows of {"text": …})
//
// tests/bench/tokenizer_bench.py makes such a file from the English text of the machine and runs
// this beside Hugging Face tokenizers.
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/job/job.h"
#include "worker/rank/data/dataset.h"
#include "worker/rank/data/json_rows.h"
#include "worker/rank/files/mapped_file.h"
#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::bench {
namespace {

// Of this process's one thread, so that what else runs on the machine does not count.
double CpuSeconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void Print(const char* what, int64_t tokens, double begin) {
  const double seconds = CpuSeconds() - begin, millions = 1e-6 * static_cast<double>(tokens);
  std::printf("%-32s %10.2f M tokens %8.2f s %8.2f M tokens/s\n", what, millions, seconds,
              millions / seconds);
}

base::Result<std::vector<std::string>> Texts(const job::DataSpec& data) {
  auto file = files::MappedFile::Open(data.path);
  if (!file) return file.error();
  std::vector<std::string> texts;
  auto rows =
      data::ReadJsonRows(file->text(), data.path, data.max_rows, [&](const files::JsonObject& row) {
        texts.push_back(row.Text("text"));
        return base::Status(base::Ok{});
      });
  if (!rows) return rows.error();
  return texts;
}

base::Status TokenizeAlone(const data::Tokenizer& tokenizer, const job::DataSpec& data) {
  auto texts = Texts(data);
  if (!texts) return texts.error();
  const double begin = CpuSeconds();
  std::vector<int32_t> ids;
  int64_t tokens = 0;
  for (const std::string& text : *texts) {
    ids.clear();
    tokenizer.Encode(text, &ids);
    tokens += static_cast<int64_t>(ids.size());
  }
  Print("tokenize", tokens, begin);
  return base::Ok{};
}

base::Status Load(const char* what, const job::DataSpec& data, const job::ModelShape& model,
                  const std::string& directory, const std::string& cache) {
  constexpr int64_t kLongRow = 1 << 20;
  const double begin = CpuSeconds();
  auto dataset = data::LoadDataset(data, model, directory, kLongRow, cache);
  if (!dataset) return dataset.error();
  Print(what, dataset->total_tokens, begin);
  return base::Ok{};
}

base::Status Run(const std::string& directory, const job::DataSpec& data,
                 const std::string& cache) {
  auto tokenizer = data::LoadTokenizer(directory);
  if (!tokenizer) return tokenizer.error();
  if (auto done = TokenizeAlone(**tokenizer, data); !done) return done;
  job::ModelShape model;
  model.vocab = (*tokenizer)->vocab_size();
  if (auto done = Load("read, tokenize, write the cache", data, model, directory, cache); !done)
    return done;
  return Load("from the cache", data, model, directory, cache);
}

int Main(int argc, char** argv) {
  if (argc < 3)
    return std::fprintf(stderr,
                        "usage: tokenizer_bench DIRECTORY_OF_A_TOKENIZER FILE.jsonl [ROWS]\n"),
           2;
  job::DataSpec data;
  data.path = argv[2];
  data.format = job::DataFormat::kText;
  if (argc > 3) data.max_rows = std::atoll(argv[3]);
  const auto cache =
      std::filesystem::temp_directory_path() / ("tokenizer_bench." + std::to_string(::getpid()));
  const base::Status done = Run(argv[1], data, cache.string());
  std::filesystem::remove_all(cache);
  if (!done) return std::fprintf(stderr, "%s\n", done.error().message.c_str()), 1;
  return 0;
}

}  // namespace
}  // namespace trainctl::bench

int main(int argc, char** argv) { return trainctl::bench::Main(argc, argv); }
