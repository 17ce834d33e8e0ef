#include "worker/rank/train/same_data.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "worker/rank/files/digest.h"
#include "worker/rank/process/run_failure.h"

namespace trainctl::train {
namespace {

// What a rank has; of all rows, those that validate too.
struct Seen {
  int64_t digest = 0;
  int64_t rows = 0;
  int64_t skipped = 0;
  int64_t tokens = 0;

  bool operator==(const Seen&) const = default;
};
using Numbers = std::array<int64_t, sizeof(Seen) / sizeof(int64_t)>;

void Add(const data::Dataset& dataset, Seen* seen) {
  seen->rows += std::ssize(dataset.rows);
  seen->skipped += std::ssize(dataset.skipped);
  seen->tokens += dataset.total_tokens;
}

Seen SeenHere(const data::Dataset& dataset) {
  Seen seen{.digest = static_cast<int64_t>(files::Xxh64(std::as_bytes(std::span(dataset.digest))))};
  Add(dataset, &seen);
  if (dataset.validation) Add(*dataset.validation, &seen);
  return seen;
}

std::vector<Seen> SeenByAll(const Seen& own, comm::Communicator& comm, at::Device device) {
  const auto numbers = std::bit_cast<Numbers>(own);
  const at::Tensor input = at::tensor(numbers).to(device);
  const at::Tensor output = at::empty({comm.world_size() * input.numel()}, input.options());
  comm.Wait(comm.AllGather(output, input));
  const at::Tensor host = output.cpu();
  const int64_t* next = host.const_data_ptr<int64_t>();
  std::vector<Seen> all;
  for (int64_t rank = 0; rank < comm.world_size(); ++rank, next += numbers.size()) {
    Numbers of_rank;
    std::copy_n(next, of_rank.size(), of_rank.begin());
    all.push_back(std::bit_cast<Seen>(of_rank));
  }
  return all;
}

std::string TextOf(int64_t rank, const Seen& seen) {
  std::string text = "rank " + std::to_string(rank) + " has " + std::to_string(seen.rows) +
                     " rows of " + std::to_string(seen.tokens) + " tokens";
  if (seen.skipped > 0)
    text += ", beside " + std::to_string(seen.skipped) + " whose pictures can't be read";
  return text;
}

}  // namespace

void CheckSameData(const data::Dataset& dataset, comm::Communicator& comm, at::Device device) {
  if (comm.world_size() == 1) return;
  const std::vector<Seen> all = SeenByAll(SeenHere(dataset), comm, device);
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    throw RunFailure{"data.path: the ranks have other data: " + TextOf(0, all[0]) + "; " +
                     TextOf(static_cast<int64_t>(rank), all[rank]) +
                     ": give all hosts the same files, of the tokenizer too"};
  }
}

}  // namespace trainctl::train
