// Unix users of the tests' sites.
#pragma once

#include <sys/types.h>

namespace trainctl::rpc_test {

inline constexpr uid_t kAnna = 61001, kBob = 61002, kOps = 61003, kViewer = 61004, kNobody = 61005,
                       kAdmin = 61006, kGpu = 61007;

}  // namespace trainctl::rpc_test
