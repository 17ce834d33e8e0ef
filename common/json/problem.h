// A fault in a job or lab file, for people. Checks list every problem at once.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace trainctl::job {

constexpr size_t kShownValueBytes = 60;  // of Problem::value

struct Problem {
  std::string path;      // JSON path: "train.micro_batch_size", "experiments[1].set.lora"
  int line = 0;          // in the file, from 1; 0: an override or no file
  std::string value;     // as it was written, shortened
  std::string expected;  // what would be right
  std::string hint;      // did you mean …, the nearest that work; may be empty
};

// "job.json:12: train.micro_batch_size: 0: expected a positive integer or \"auto\"; did you mean
// …", one a line.
std::string Format(const std::vector<Problem>& problems, const std::string& source);

}  // namespace trainctl::job
