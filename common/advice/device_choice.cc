#include "common/advice/device_choice.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace trainctl::advice {

base::Result<std::vector<size_t>> ChooseDevices(const job::JobSpec& job,
                                                const std::vector<job::SiteDevice>& site) {
  using Key = std::tuple<bool, int64_t, std::string>;  // a GPU, its memory, its name
  std::map<Key, std::vector<size_t>> groups;
  std::string reason = "no worker has registered";
  for (size_t i = 0; i < site.size(); ++i) {
    const job::SiteDevice& device = site[i];
    if (!job::MeetsConstraints(job, device, &reason)) continue;
    groups[{device.kind == job::DeviceKind::kCuda, device.memory_bytes, device.name}].push_back(i);
  }
  if (groups.empty())
    return base::Error{base::Code::kInvalid, "no device of this site can run the job: " + reason};
  return std::ranges::max_element(groups, {},
                                  [](const auto& group) {
                                    return std::pair(std::get<bool>(group.first),
                                                     std::get<int64_t>(group.first));
                                  })
      ->second;
}

}  // namespace trainctl::advice
