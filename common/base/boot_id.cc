#include "common/base/boot_id.h"

#include "common/base/file.h"

namespace trainctl::base {

std::string BootId() {
  const Result<std::string> text = ReadFile("/proc/sys/kernel/random/boot_id", 256);
  return text ? text->substr(0, text->find('\n')) : std::string();
}

}  // namespace trainctl::base
