// What other programs call the settings of a job: Hugging Face's trainer, LitGPT, torchrun,
// DeepSpeed and Slurm. People type them out of habit; hints then name the key. One table.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace trainctl::job {

struct ForeignName {
  std::string_view name;   // lower case, without - and _
  std::string_view key;    // of the schema
  std::string_view value;  // that the name stands for; empty: the user's own
};

std::span<const ForeignName> ForeignNames();

// Of "--num-gpus", "num_gpus" or "numGPUs" the row of "numgpus"; nullptr: there is none.
const ForeignName* FindForeignName(std::string_view name);

// "num-GPUs" as "numgpus".
std::string PlainName(std::string_view name);

}  // namespace trainctl::job
