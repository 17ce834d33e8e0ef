#include "client/exit_code.h"
#include "client/show/bounds_text.h"
#include "client/show/calendar_time.h"
#include "client/show/decoded.h"
#include "client/show/format.h"
#include "client/show/lease_text.h"
#include "client/show/worker_state.h"
#include "client/verbs/verb.h"
#include "common/base/size.h"
#include "common/job/labels.h"
#include "common/record/worker_record.h"

namespace trainctl::client {
namespace {

std::string MemoryText(int64_t used, int64_t total) {
  return total > 0 ? base::FormatBytes(used) + " of " + base::FormatBytes(total) : "";
}

std::string LabelsOf(const v1::WorkerView& worker) {
  return job::LabelsText({worker.device().labels().begin(), worker.device().labels().end()});
}

// Which of the columns behind the first ones are there.
struct More {
  bool labels = false;
  bool reasons = false;
};

More MoreOf(const v1::WorkersResponse& response) {
  More more;
  for (const v1::WorkerView& worker : response.workers()) {
    more.labels |= worker.device().labels_size() > 0;
    more.reasons |= !worker.reason().empty();
  }
  return more;
}

std::vector<TextCell> WorkerRow(const v1::WorkerView& worker, const More& more) {
  const v1::DeviceSample& gpu = worker.device_sample();
  const bool is_gpu = IsSampledGpu(worker);
  const v1::HostSample& host = worker.host_sample();
  std::vector<TextCell> cells = {
      worker.name(),
      {worker.state(), StyleOfWorkerState(worker.state())},
      worker.job(),
      worker.device().name(),
      gpu.has_utilization_percent() && is_gpu ? FormatWithUnit(gpu.utilization_percent(), "%") : "",
      is_gpu ? MemoryText(gpu.memory_used_bytes(), worker.device().memory_bytes()) : "",
      gpu.has_power_watts() ? FormatWithUnit(gpu.power_watts(), "W") : "",
      gpu.has_temperature_celsius() ? FormatWithUnit(gpu.temperature_celsius(), "°C") : "",
      worker.has_host_sample() ? FormatWithUnit(host.cpu_percent(), "%") : "",
      MemoryText(host.memory_used_bytes(), host.memory_total_bytes())};
  if (more.labels) cells.emplace_back(LabelsOf(worker));
  if (!worker.reason().empty()) cells.emplace_back(InLocalTime(worker.reason()));
  return cells;
}

// The last columns are for labels and reasons, where there are any.
std::vector<TextColumn> WorkerColumns(const More& more) {
  std::vector<TextColumn> columns = {{.header = "WORKER", .cut = true},
                                     {"STATE"},
                                     {"JOB"},
                                     {.header = "DEVICE", .cut = true},
                                     {"GPU", true},
                                     {"GPU MEMORY", true},
                                     {.header = "POWER", .right = true, .goes = 2},
                                     {.header = "TEMP", .right = true, .goes = 4},
                                     {.header = "HOST CPU", .right = true, .goes = 1},
                                     {.header = "HOST MEMORY", .right = true, .goes = 3}};
  if (more.labels) columns.push_back({.header = "LABELS", .goes = more.reasons ? 5 : 0});
  if (more.reasons) columns.push_back({"WHY"});
  return columns;
}

class Workers : public Verb {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Positionals("remove WORKER", &words_,
                          "take a worker that does not come back out of the inventory",
                          /*required=*/false);
    arguments.Remark(
        "`remove WORKER` takes a worker that does not come back out of the inventory: one renamed, "
        "or of a host that is gone. One\n"
        "that is connected or holds a job is refused. Should it come back, it is there again.\n"
        "READY: free. BUSY: holds a job. LOST: not heard of for 15 s. DIRTY: the device is not "
        "free though nothing of ours runs there,\n"
        "or the worker can start no rank: WHY says more. It is READY again by itself. DRAINED: see "
        "trainctl drain. LEASED: free for the jobs of a lease.\n"
        "BAD, SUSPECT: the driver told of a fault of the device (an XID). SUSPECT ends by itself "
        "once it was clean for ten minutes\n"
        "and no reset is due, BAD by trainctl undrain WORKER. WHY also names a device that was "
        "slower than its gang: it still gets jobs.");
  }

  int Run(Context& context) override {
    const base::Result<Api*> api = NeedApi(context);
    if (!api.ok()) return Fail(context, api.error());
    if (words_.empty()) return List(context, **api);
    if (words_.size() == 2 && words_[0] == "remove") return Remove(context, **api, words_[1]);
    return Fail(context,
                {base::Code::kInvalid,
                 "workers " + words_[0] +
                     ": expected remove WORKER, or nothing; see: trainctl workers --help"});
  }

 private:
  static int Remove(Context& context, Api& api, const std::string& worker) {
    v1::RemoveWorkerRequest request;
    request.set_worker(worker);
    const auto response = api.RemoveWorker(request);
    if (!response.ok()) return Fail(context, response.error());
    return Tell(context,
                "Removed " + worker + " from the inventory.\n" + LeasesNote(response->leases()),
                OneRecord("removed", "worker",
                          {{"worker", worker}, {"leases", NamesOf(response->leases())}}));
  }

  static int List(Context& context, Api& api) {
    const base::Result<v1::WorkersResponse> response = api.Workers();
    if (!response.ok()) return Fail(context, response.error());
    const More more = MoreOf(*response);
    Listing listing{
        .collection = "workers", .table = TextTable(WorkerColumns(more)), .name_key = "name"};
    for (const v1::WorkerView& worker : response->workers()) {
      listing.records.push_back(record::WorkerRecord(worker));
      listing.table.AddRow(WorkerRow(worker, more));
    }
    if (response->has_policy()) listing.members["bounds"] = BoundsRecord(response->policy());
    if (context.for_people() && listing.records.empty()) {
      Say(context, "no workers: none is registered with this coordinator\n");
    } else {
      Print(context, listing);
    }
    const std::string bounds = response->has_policy() ? BoundsText(response->policy()) : "";
    if (!bounds.empty()) {
      const int width = context.surroundings.out_terminal.layout.width;
      Say(context, "\n" + WrapLines(bounds, width) + "\n");
    }
    return kExitOk;
  }

  std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<Verb> MakeWorkers() { return std::make_unique<Workers>(); }

}  // namespace trainctl::client
