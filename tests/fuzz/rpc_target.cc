// Messages of clients, workers and coordinators, from protobuf to values. The first byte chooses
// the message: its place in kDecoders.
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <array>
#include <string>

#include "common/estimate/memory_estimate.h"
#include "common/rank/metric.h"
#include "common/wire/artifact.h"
#include "common/wire/device.h"
#include "common/wire/earlier_runs.h"
#include "common/wire/metric_point.h"
#include "common/wire/output_removal.h"
#include "common/wire/rank_report.h"
#include "common/wire/samples.h"
#include "common/wire/valid_text.h"
#include "proto/trainctl.pb.h"
#include "server/rpc/decode_question.h"
#include "server/rpc/decode_submit.h"
#include "server/rpc/field_count.h"
#include "server/rpc/worker_messages.h"
#include "tests/fuzz/targets.h"

namespace trainctl::fuzz {
namespace {

using Decoder = bool (*)(std::string_view);

// Its fields are counted first, as those of requests are.
template <class Message, auto kDecode>
bool Decode(std::string_view bytes) {
  Message message;
  google::protobuf::io::ArrayInputStream counted(bytes.data(), static_cast<int>(bytes.size()));
  if (!rpc::HasAtMostFields(&counted, message.GetDescriptor(), rpc::kMaxRequestFields))
    return false;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  wire::MakeTextValid(&message);
  return kDecode(message);
}

// In the order of SEEDS_OF_RPC in seeds.py.
constexpr std::array kDecoders = {
    Decode<v1::SubmitRequest, [](const auto& m) { return rpc::DecodeSubmit(m).ok(); }>,
    Decode<v1::ListRequest, [](const auto& m) { return rpc::DecodeList(m).ok(); }>,
    Decode<v1::EarlierRunsRequest, [](const auto& m) { return rpc::DecodeKeys(m).ok(); }>,
    Decode<v1::InspectRequest, [](const auto& m) { return rpc::CheckInspect(&m).ok(); }>,
    Decode<v1::ReadArtifactRequest, [](const auto& m) { return rpc::CheckRead(&m).ok(); }>,
    Decode<v1::AuditRequest, [](const auto& m) { return rpc::CheckAudit(&m).ok(); }>,
    Decode<v1::Hello, [](const auto& m) { return rpc::DecodeHello(m).ok(); }>,
    Decode<v1::RankReport, [](const auto& m) { return rpc::DecodeReport("h/0", m).ok(); }>,
    Decode<v1::LogReport, [](const auto& m) { return rpc::DecodeLog(m).ok(); }>,
    Decode<v1::InspectResult, [](const auto& m) { return rpc::DecodeInspection(m).ok(); }>,
    Decode<v1::ReadArtifactResponse, [](const auto& m) { return wire::FromWire(m).ok(); }>,
    Decode<v1::Device, [](const auto& m) { return wire::FromWire(m).ok(); }>,
    Decode<v1::DeviceSample,
           [](const auto& m) { return wire::FromWire(m).power_watts.has_value(); }>,
    Decode<v1::HostSample, [](const auto& m) { return (wire::FromWire(m).cpu_percent > 0); }>,
    Decode<v1::ShapeRuns, [](const auto& m) { return !wire::FromWire(m).runs.empty(); }>,
    Decode<v1::MetricSummary, [](const auto& m) { return (wire::FromWire(m).count > 0); }>,
    Decode<v1::ArtifactAsk, [](const auto& m) { return !wire::FromWire(m).path.empty(); }>,
    Decode<v1::OutputsAsk, [](const auto& m) { return !wire::FromWire(m).saved.empty(); }>,
    Decode<v1::HostOutputs, [](const auto& m) { return wire::FromWire(m).ok(); }>,
};

}  // namespace

bool ReadRpc(std::string_view bytes) {
  if (bytes.empty()) return false;
  const size_t kind = static_cast<unsigned char>(bytes.front()) % kDecoders.size();
  return kDecoders[kind](bytes.substr(1));
}

}  // namespace trainctl::fuzz
