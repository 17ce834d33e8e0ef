#include "worker/rank/state/restore_state.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "worker/rank/state/element_types.h"
#include "worker/rank/state/read_ahead.h"
#include "worker/rank/strategy/tensor_bytes.h"

namespace trainctl::train {
namespace {

using strategy::StateSlice;

constexpr int64_t kGroupBytes = int64_t{4} << 30;  // checked, then copied

// At most kReadAheadBytes of a piece, as they lie in a file.
struct SlicePart {
  const StateSlice* slice;
  int64_t begin;  // value
  int64_t count;
  at::ScalarType type;
  std::span<const std::byte> bytes;

  at::Tensor Target() const { return slice->values.narrow(0, begin - slice->begin, count); }
};

files::StateRange RangeOf(const StateSlice& slice) {
  return {.tensor = slice.tensor,
          .kind = slice.kind,
          .elements_per_value = slice.elements_per_value,
          .begin = slice.begin,
          .count = slice.values.numel(),
          .total = slice.total};
}

bool CanConvert(at::ScalarType from, at::ScalarType to) {
  return from == to || (at::isFloatingType(from) && at::isFloatingType(to));
}

base::Status AddParts(const StateSlice& slice, const files::StatePiece& piece,
                      std::vector<SlicePart>* parts) {
  const std::optional<at::ScalarType> type = ScalarTypeOf(piece.dtype);
  if (!type || !CanConvert(*type, slice.values.scalar_type())) {
    return base::Error{base::Code::kInvalid,
                       slice.kind + " of " + slice.tensor + " is stored as " +
                           std::string(files::Name(piece.dtype)) + ": expected " +
                           std::string(files::Name(DTypeOf(slice.values.scalar_type())))};
  }
  const auto width = static_cast<int64_t>(c10::elementSize(*type));
  for (int64_t done = 0; done < piece.count;) {
    const int64_t count = std::min(piece.count - done, kReadAheadBytes / width);
    const auto bytes =
        piece.bytes.subspan(static_cast<size_t>(done * width), static_cast<size_t>(count * width));
    parts->push_back({&slice, piece.begin + done, count, *type, bytes});
    done += count;
  }
  return base::Ok{};
}

void Copy(const std::vector<SlicePart>& parts, at::Device device) {
  std::vector<const SlicePart*> there;
  std::vector<std::span<const std::byte>> bytes;
  for (const SlicePart& part : parts) {
    if (part.slice->values.device() != device) continue;
    there.push_back(&part);
    bytes.push_back(part.bytes);
  }
  ReadAhead(bytes, device, [&](size_t i, const at::Tensor& values) {
    there[i]->Target().copy_(values.view(there[i]->type));
  });
}

// Some slices at once.
base::Status RestoreGroup(files::CheckpointState& checkpoint, std::span<const StateSlice> slices) {
  std::vector<files::StateRange> ranges;
  for (const StateSlice& slice : slices) ranges.push_back(RangeOf(slice));
  if (base::Status intact = checkpoint.Check(ranges); !intact) return intact;
  std::vector<SlicePart> parts;
  std::vector<at::Device> devices;  // an offloaded state lies on the host
  for (size_t i = 0; i < slices.size(); ++i) {
    const auto pieces = checkpoint.Read(ranges[i]);
    if (!pieces) return pieces.error();
    for (const files::StatePiece& piece : *pieces) {
      if (base::Status added = AddParts(slices[i], piece, &parts); !added) {
        return base::Error{added.error().code,
                           "checkpoint '" + checkpoint.path() + "': " + added.error().message};
      }
    }
    if (std::ranges::find(devices, slices[i].values.device()) == devices.end())
      devices.push_back(slices[i].values.device());
  }
  for (const at::Device device : devices) Copy(parts, device);
  for (const files::StateRange& range : ranges) checkpoint.Release(range);
  return base::Ok{};
}

}  // namespace

base::Status RestoreState(files::CheckpointState& checkpoint, strategy::Strategy& strategy,
                          const ByteProgress& progress) {
  const std::vector<StateSlice> slices = strategy.State();
  const int64_t total = strategy::Bytes(slices);
  int64_t done = 0;
  for (size_t first = 0; first < slices.size();) {
    const int64_t before = done;
    size_t end = first;
    while (end < slices.size() && (end == first || done - before < kGroupBytes)) {
      done += strategy::Bytes(slices[end++].values);
    }
    if (base::Status restored =
            RestoreGroup(checkpoint, std::span(slices).subspan(first, end - first));
        !restored)
      return restored;
    first = end;
    progress(done, total);
  }
  strategy.FinishLoading();
  return base::Ok{};
}

}  // namespace trainctl::train
