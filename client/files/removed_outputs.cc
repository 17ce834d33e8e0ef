#include "client/files/removed_outputs.h"

#include <utility>

#include "common/base/size.h"

namespace trainctl::client {
namespace {

Json RecordOf(const v1::HostOutputs& host) {
  Json left = Json::array();
  for (const v1::LeftPath& path : host.left())
    left.push_back({{"path", path.path()}, {"why", path.why()}});
  return {{"host", host.host()},
          {"files", host.files()},
          {"bytes", host.bytes()},
          {"left", std::move(left)}};
}

void Add(const v1::RemoveOutputsResponse& response, RemovedOutputs* removed) {
  Json hosts = Json::array();
  int64_t files = 0, bytes = 0;
  for (const v1::HostOutputs& host : response.hosts()) {
    hosts.push_back(RecordOf(host));
    files += host.files();
    bytes += host.bytes();
    for (const v1::LeftPath& path : host.left())
      removed->left.push_back(host.host() + ": " + path.path() + ": " + path.why());
  }
  const v1::SubmittedJob& job = response.job();
  removed->files += files;
  removed->bytes += bytes;
  removed->listing.records.push_back({{"id", job.id()},
                                      {"name", job.name()},
                                      {"output_dir", response.output_dir()},
                                      {"files", files},
                                      {"bytes", bytes},
                                      {"hosts", std::move(hosts)}});
  removed->listing.table.AddRow({job.id(), job.name(), std::to_string(files),
                                 base::FormatBytes(bytes), response.output_dir()});
}

}  // namespace

RemovedOutputs RemoveWithOutputs(Api& api, const std::vector<v1::JobView>& jobs, bool look_only) {
  RemovedOutputs removed{.listing = {.collection = "jobs",
                                     .table = TextTable({{"ID"},
                                                         {.header = "NAME", .cut = true},
                                                         {"FILES", true},
                                                         {"SIZE", true},
                                                         {"OUTPUT"}})}};
  for (const v1::JobView& job : jobs) {
    v1::RemoveOutputsRequest request;
    request.set_job(job.id());
    request.set_look_only(look_only);
    const base::Result<v1::RemoveOutputsResponse> response = api.RemoveOutputs(request);
    if (response.ok()) {
      Add(*response, &removed);
      continue;
    }
    removed.failures.push_back(response.error());
    if (response.error().code != base::Code::kConflict) break;
  }
  return removed;
}

}  // namespace trainctl::client
