#include "worker/rank/comm/nccl_version.h"

#include <nccl.h>

namespace trainctl::comm {

std::string NcclVersion() {
  int code = 0;  // major · 10000 + minor · 100 + patch
  if (ncclGetVersion(&code) != ncclSuccess) return "unknown";
  return std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." +
         std::to_string(code % 100);
}

}  // namespace trainctl::comm
