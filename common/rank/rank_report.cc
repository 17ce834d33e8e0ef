#include "common/rank/rank_report.h"

#include <utility>

namespace trainctl::job {

ReportBody ToBody(RankMessage message) {
  return std::visit([](auto&& body) { return ReportBody(std::forward<decltype(body)>(body)); },
                    std::move(message));
}

}  // namespace trainctl::job
