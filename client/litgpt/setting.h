// One setting of LitGPT, from its YAML or its command line. Values.
#pragma once

#include <string>
#include <vector>

namespace trainctl::client {

struct LitgptSetting {
  std::string key;    // dotted: "train.micro_batch_size"; of data and optimizer "data" (the class)
                      // and "data.json_path" (its arguments)
  std::string value;  // as it was written; a list as JSON; "null" of an empty one
  std::string place;  // "config.yaml:12:3", "--train.micro_batch_size"
};

using LitgptSettings =
    std::vector<LitgptSetting>;  // in the order of their places; a later one counts

// "data.init_args.json_path" → "data.json_path", "optimizer.class_path" → "optimizer": how the YAML
// and the command line differ.
std::string PlainLitgptKey(std::string key);

}  // namespace trainctl::client
