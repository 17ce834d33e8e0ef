#include "client/top/bsc_table.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "client/show/decoded.h"
#include "client/show/format.h"
#include "common/base/size.h"

namespace trainctl::client {
namespace {

struct Node {
  std::string name;
  v1::HostSample host;  // memory_total_bytes 0: not known
  std::vector<const v1::WorkerView*> gpus;
};

// In the order of the site.
std::vector<Node> NodesOf(const SiteView& site) {
  std::vector<Node> nodes;
  for (const v1::WorkerView& worker : site.workers) {
    auto node = std::ranges::find(nodes, worker.host(), &Node::name);
    if (node == nodes.end()) node = nodes.insert(nodes.end(), Node{worker.host(), {}, {}});
    if (worker.has_host_sample()) node->host = worker.host_sample();
    if (KindOf(worker) == job::DeviceKind::kCuda) node->gpus.push_back(&worker);
  }
  return nodes;
}

std::string Percent(double percent) { return FormatNumber(std::round(10 * percent) / 10); }

std::string ShareText(int64_t part, int64_t whole) {
  return whole > 0 ? Percent(100 * static_cast<double>(part) / static_cast<double>(whole)) : "";
}

std::string PowerText(const Node& node) {
  double watts = 0;
  bool is_known = false;
  for (const v1::WorkerView* gpu : node.gpus) {
    watts += gpu->device_sample().power_watts();
    is_known = is_known || gpu->device_sample().has_power_watts();
  }
  return is_known ? FormatNumber(std::round(watts)) + " W" : "";
}

std::vector<TextCell> RowOf(const Node& node) {
  const v1::HostSample& host = node.host;
  const int64_t total = host.memory_total_bytes();
  std::vector<TextCell> cells = {
      node.name,
      host.cpus() > 0 ? FormatNumber(host.cpus()) : "",
      total > 0 ? Percent(host.cpu_percent()) : "",
      total > 0 ? base::FormatBytes(total) : "",
      total > 0 ? base::FormatBytes(total - host.memory_used_bytes()) : "",
      ShareText(host.memory_used_bytes(), total),
      PowerText(node)};
  for (const v1::WorkerView* gpu : node.gpus) {
    const v1::DeviceSample& sample = gpu->device_sample();
    cells.emplace_back(sample.has_utilization_percent() ? Percent(sample.utilization_percent())
                                                        : "");
    cells.emplace_back(gpu->has_device_sample()
                           ? ShareText(sample.memory_used_bytes(), gpu->device().memory_bytes())
                           : "");
  }
  return cells;
}

Json NullIfZero(int64_t count) { return count > 0 ? Json(count) : Json(nullptr); }

Json RecordOf(const Node& node) {
  const v1::HostSample& host = node.host;
  const int64_t total = host.memory_total_bytes();
  Json gpus = Json::array();
  for (const v1::WorkerView* gpu : node.gpus) {
    const v1::DeviceSample& sample = gpu->device_sample();
    gpus.push_back(
        {{"device", gpu->name()},
         {"utilization_percent",
          sample.has_utilization_percent() ? Json(sample.utilization_percent()) : Json(nullptr)},
         {"memory_used_bytes",
          gpu->has_device_sample() ? Json(sample.memory_used_bytes()) : Json(nullptr)},
         {"memory_bytes", NullIfZero(gpu->device().memory_bytes())},
         {"power_watts", sample.has_power_watts() ? Json(sample.power_watts()) : Json(nullptr)}});
  }
  return {{"node", node.name},
          {"cpus", NullIfZero(host.cpus())},
          {"cpu_percent", total > 0 ? Json(host.cpu_percent()) : Json(nullptr)},
          {"memory_bytes", NullIfZero(total)},
          {"memory_used_bytes", total > 0 ? Json(host.memory_used_bytes()) : Json(nullptr)},
          {"gpus", gpus}};
}

}  // namespace

Listing BscListing(const SiteView& site) {
  Listing listing{.collection = "nodes", .table = BscTable(site), .name_key = "node"};
  for (const Node& node : NodesOf(site)) listing.records.push_back(RecordOf(node));
  return listing;
}

TextTable BscTable(const SiteView& site) {
  const std::vector<Node> nodes = NodesOf(site);
  size_t most_gpus = 0;
  for (const Node& node : nodes) most_gpus = std::max(most_gpus, node.gpus.size());
  std::vector<TextColumn> columns = {
      {"NODE"},           {"NCPUS", true}, {"CPU %", true}, {"AVAIL MEM", true},
      {"FREE MEM", true}, {"MEM %", true}, {"POWER", true}};
  for (size_t i = 0; i < most_gpus; ++i) {
    columns.push_back({"GPU" + std::to_string(i) + " %", true});
    columns.push_back({"MEM" + std::to_string(i) + " %", true});
  }
  TextTable table(std::move(columns));
  for (const Node& node : nodes) table.AddRow(RowOf(node));
  return table;
}

}  // namespace trainctl::client
