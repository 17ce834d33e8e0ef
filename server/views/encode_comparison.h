// Comparisons as the API shows them.
#pragma once

#include "server/coordinator/comparison.h"

namespace trainctl::v1 {
class CompareResponse;
}

namespace trainctl::views {

v1::CompareResponse EncodeComparison(const coordinator::Comparison& comparison);

}  // namespace trainctl::views
