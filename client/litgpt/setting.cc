#include "client/litgpt/setting.h"

#include <utility>

namespace trainctl::client {

std::string PlainLitgptKey(std::string key) {
  for (const std::string section : {"data", "optimizer"}) {
    if (key == section + ".class_path") return section;
    const std::string arguments = section + ".init_args.";
    if (key.starts_with(arguments)) return section + "." + key.substr(arguments.size());
  }
  return key;
}

}  // namespace trainctl::client
