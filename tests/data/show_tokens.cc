// What a data set's rows of texts become, for a test that asks others the same.
//
// usage: show_tokens MODEL FILE.jsonl    of each row {"text"} a line of ids
#include <cstdio>
#include <string>

#include "worker/rank/data/dataset.h"
#include "worker/rank/files/model_config.h"

int main(int argc, char** argv) {
  using namespace trainctl;
  if (argc != 3) return 2;
  constexpr int64_t kMaxSeqLength = 1 << 20;
  const auto fail = [](const base::Error& error) {
    std::fprintf(stderr, "%s\n", error.message.c_str());
    return 1;
  };
  const auto model = files::ReadModelConfig(argv[1]);
  if (!model) return fail(model.error());
  const job::DataSpec data = {.path = argv[2], .format = job::DataFormat::kText};
  const auto dataset = data::LoadDataset(data, *model, argv[1], kMaxSeqLength);
  if (!dataset) return fail(dataset.error());
  for (const data::Row& row : dataset->rows) {
    for (int64_t i = row.begin; i < row.begin + row.length; ++i)
      std::printf("%lld ", static_cast<long long>(dataset->tokens[i]));
    std::printf("\n");
  }
  return 0;
}
