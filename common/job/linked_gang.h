// Gangs that ask how their devices are linked: "gpu.links": "=NVLink", ">=PIX". Each two devices of
// such a gang are GPUs of one host, and the link between them meets the constraint. So the whole
// gang is on one host. A link that nobody has told of will not do. A job of one device has no links
// to ask for: any GPU will do. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "common/job/constraint.h"
#include "common/job/job.h"
#include "common/job/site.h"

namespace trainctl::job {

// The constraint of a job of several devices; nullopt: it has none.
std::optional<Constraint> LinksAskedFor(const JobSpec& job);

// Whether two of some devices are linked as is asked: symmetric.
using AreLinked = std::function<bool(size_t, size_t)>;

// So many of the devices that are numbered from 0, each two of them linked; the first in order.
// Empty: there are none. Where that is not clear after 100,000 steps it counts as none: no host
// that is built has such links.
std::vector<size_t> FindLinked(size_t devices, size_t count, const AreLinked& are_linked);
// The largest number of them that are linked so, not above `most`.
size_t MostLinked(size_t devices, size_t most, const AreLinked& are_linked);
// In order all that are in some such group of this size.
std::vector<size_t> AllLinked(size_t devices, size_t count, const AreLinked& are_linked);

// The most devices of one host and model that are linked as the job asks, not above its number; of
// those that meet its other constraints. It asks for links.
int64_t MostLinked(const JobSpec& job, const std::vector<SiteDevice>& devices);

// The places of devices that the job could have, as far as its constraints go: each meets them. If
// it asks for links, each is in some gang that would do.
std::vector<size_t> PossibleDevices(const JobSpec& job, const std::vector<SiteDevice>& devices);
// The places of the first that the job could have together; empty: there are none.
std::vector<size_t> FirstGang(const JobSpec& job, const std::vector<SiteDevice>& devices);

}  // namespace trainctl::job
