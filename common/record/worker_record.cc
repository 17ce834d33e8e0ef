#include "common/record/worker_record.h"

#include <map>
#include <string>

namespace trainctl::record {
namespace {

template <class Map>
Json MapRecord(const Map& map) {
  return std::map<std::string, std::string>(map.begin(), map.end());
}

Json DrainRecord(const v1::WorkerView& worker) {
  if (!worker.has_drain()) return nullptr;
  const v1::Drain& drain = worker.drain();
  return {{"target", drain.target()},
          {"user", TextOrNull(drain.user())},
          {"reason", TextOrNull(drain.reason())},
          {"since", Seconds(drain.at())}};
}

Json FaultRecords(const v1::WorkerView& worker) {
  Json records = Json::array();
  for (const v1::FaultView& fault : worker.faults()) {
    records.push_back({{"xid", fault.xid()},
                       {"meaning", fault.meaning()},
                       {"class", fault.class_()},
                       {"at", Seconds(fault.at())},
                       {"keeps_out", fault.keeps_out()}});
  }
  return records;
}

Json SlownessRecord(const v1::WorkerView& worker) {
  if (!worker.has_slowness()) return nullptr;
  const v1::Slowness& slow = worker.slowness();
  return {{"job", slow.job()},
          {"rank", slow.rank()},
          {"ratio", slow.ratio()},
          {"at", Seconds(slow.at())}};
}

Json ForeignRecords(const v1::DeviceSample& sample) {
  Json records = Json::array();
  for (const v1::ForeignProcess& process : sample.foreign()) {
    records.push_back(
        {{"pid", process.pid()},
         {"user", TextOrNull(process.user())},
         {"program", TextOrNull(process.program())},
         {"memory_bytes", Known(process.memory_bytes() > 0, process.memory_bytes())}});
  }
  return records;
}

}  // namespace

Json WorkerRecord(const v1::WorkerView& worker) {
  const v1::Device& device = worker.device();
  Json record = {
      {"name", worker.name()},
      {"host", worker.host()},
      {"state", worker.state()},
      {"reason", TextOrNull(worker.reason())},
      {"drain", DrainRecord(worker)},
      {"faults", FaultRecords(worker)},
      {"slowness", SlownessRecord(worker)},
      {"job", TextOrNull(worker.job())},
      {"last_seen", Seconds(worker.last_seen())},
      {"device",
       {{"kind", device.kind()},
        {"index", device.index()},
        {"uuid", device.uuid()},
        {"name", device.name()},
        {"memory_bytes", device.memory_bytes()},
        {"compute_capability", device.compute_capability()},
        {"driver", device.driver()},
        {"threads", device.threads()},
        {"labels", MapRecord(device.labels())},
        {"links", MapRecord(device.links())}}},
      {"gpu", nullptr},
      {"host_cpus", nullptr},
      {"host_cpu_percent", nullptr},
      {"host_memory_used_bytes", nullptr},
      {"host_memory_total_bytes", nullptr},
  };
  if (worker.has_device_sample() && device.kind() == "cuda") {
    const v1::DeviceSample& sample = worker.device_sample();
    record["gpu"] = {{"utilization_percent",
                      Known(sample.has_utilization_percent(), sample.utilization_percent())},
                     {"memory_used_bytes", sample.memory_used_bytes()},
                     {"power_watts", Known(sample.has_power_watts(), sample.power_watts())},
                     {"temperature_celsius",
                      Known(sample.has_temperature_celsius(), sample.temperature_celsius())},
                     {"foreign_processes", ForeignRecords(sample)}};
  }
  if (worker.has_host_sample()) {
    record["host_cpus"] = Known(worker.host_sample().cpus() > 0, worker.host_sample().cpus());
    record["host_cpu_percent"] = worker.host_sample().cpu_percent();
    record["host_memory_used_bytes"] = worker.host_sample().memory_used_bytes();
    record["host_memory_total_bytes"] = worker.host_sample().memory_total_bytes();
  }
  return record;
}

}  // namespace trainctl::record
