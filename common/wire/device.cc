#include "common/wire/device.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/wire/texts.h"
#include "proto/trainctl.pb.h"

namespace trainctl::wire {
namespace {

base::Error Invalid(const std::string& text) { return {base::Code::kInvalid, text}; }

base::Result<job::Labels> ReadLabels(const v1::Device& message) {
  if (message.labels_size() > static_cast<int>(job::kMaxLabels)) {
    return Invalid("device.labels: " + std::to_string(message.labels_size()) +
                   ": expected at most " + std::to_string(job::kMaxLabels));
  }
  job::Labels labels;
  for (const auto& [key, value] : message.labels()) {
    auto label = job::ParseLabel(key + "=" + value);
    if (!label) return Invalid("device.labels: " + label.error().message);
    labels.insert(std::move(*label));
  }
  return labels;
}

// A kind that a newer worker knows is one that we do not.
base::Result<job::Links> ReadLinks(const v1::Device& message) {
  if (message.links_size() > static_cast<int>(job::kMaxLinks)) {
    return Invalid("device.links: " + std::to_string(message.links_size()) + ": expected at most " +
                   std::to_string(job::kMaxLinks));
  }
  job::Links links;
  for (const auto& [uuid, kind] : message.links()) {
    if (!IsName(uuid)) return Invalid("device.links: expected UUIDs of 1 to 256 plain characters");
    links[uuid] = job::ParseLinkKind(kind).value_or(job::LinkKind::kUnknown);
  }
  return links;
}

}  // namespace

v1::Device ToWire(const job::Device& device) {
  v1::Device message;
  message.set_kind(std::string(job::Name(device.kind)));
  message.set_index(device.index);
  message.set_uuid(device.uuid);
  message.set_name(device.name);
  message.set_memory_bytes(device.memory_bytes);
  message.set_compute_capability(device.compute_capability);
  message.set_driver(device.driver);
  message.set_threads(device.threads);
  message.set_host_memory_bytes(device.host_memory_bytes);
  message.mutable_labels()->insert(device.labels.begin(), device.labels.end());
  if (device.numa_node) message.set_numa_node(*device.numa_node);
  for (const auto& [uuid, kind] : device.links) {
    if (IsName(uuid)) (*message.mutable_links())[uuid] = std::string(job::Name(kind));
  }
  return message;
}

base::Result<job::Device> FromWire(const v1::Device& message) {
  const std::optional<job::DeviceKind> kind = job::ParseDeviceKind(message.kind());
  if (!kind)
    return Invalid("device.kind: '" + message.kind().substr(0, kMaxTextBytes) +
                   "': expected cuda or cpu");
  if (message.index() < 0)
    return Invalid("device.index: " + std::to_string(message.index()) +
                   ": expected a number from 0");
  if (!IsName(message.uuid())) return Invalid("device.uuid: expected 1 to 256 plain characters");
  if (message.memory_bytes() < 1) {
    return Invalid("device.memory_bytes: " + std::to_string(message.memory_bytes()) +
                   ": expected bytes, from 1");
  }
  if (message.threads() < 0)
    return Invalid("device.threads: " + std::to_string(message.threads()) +
                   ": expected a number from 0");
  const base::Status texts =
      CheckTexts({{"device.name", &message.name()},
                  {"device.compute_capability", &message.compute_capability()},
                  {"device.driver", &message.driver()}});
  if (!texts) return texts.error();
  auto labels = ReadLabels(message);
  if (!labels) return labels.error();
  auto links = ReadLinks(message);
  if (!links) return links.error();
  return job::Device{.kind = *kind,
                     .index = message.index(),
                     .uuid = message.uuid(),
                     .name = message.name(),
                     .memory_bytes = message.memory_bytes(),
                     .compute_capability = message.compute_capability(),
                     .driver = message.driver(),
                     .threads = std::max<int64_t>(1, message.threads()),
                     .labels = std::move(*labels),
                     .host_memory_bytes = std::max<int64_t>(0, message.host_memory_bytes()),
                     .links = std::move(*links),
                     .numa_node = message.has_numa_node() ? std::optional(message.numa_node())
                                                          : std::optional<int64_t>()};
}

}  // namespace trainctl::wire
