#include "common/base/version.h"

#include "common/base/commit.h"

namespace trainctl::base {

std::string_view Version() { return TRAINCTL_VERSION; }

std::string_view Commit() { return TRAINCTL_COMMIT; }

}  // namespace trainctl::base
