#include "worker/rank/comm/host_group.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "common/base/check.h"
#include "worker/rank/comm/comm_error.h"

namespace trainctl::comm {
namespace {

// Large enough that a round's fixed cost is lost in it, small enough to stay in the last-level
// cache. A multiple of every element's size.
constexpr size_t kChunkBytes = size_t{1} << 20;

constexpr const char* kKindNames[] = {"all-reduce", "all-gather", "reduce-scatter", "broadcast"};

}  // namespace

struct HostGroup::Header {
  enum class Kind : uint8_t { kAllReduce, kAllGather, kReduceScatter, kBroadcast };

  uint32_t magic = 0x54434F4C;
  Kind kind = Kind::kAllReduce;
  Element element = Element::kBf16;
  uint16_t root = 0;
  uint64_t bytes = 0;
  uint64_t sequence = 0;

  bool operator==(const Header&) const = default;

  // For an error's text; whatever the bytes of a broken peer are.
  std::string ToString() const {
    const auto index = static_cast<size_t>(kind);
    return std::string(magic == Header().magic && index < std::size(kKindNames)
                           ? kKindNames[index]
                           : "no known collective") +
           " of " + std::to_string(bytes) + " bytes (" + std::string(NameOf(element)) + ", root " +
           std::to_string(root) + ", collective " + std::to_string(sequence) + ")";
  }
};

// Which bytes of a buffer belong to which owner: contiguous, in rank order, whole elements.
struct HostGroup::Shards {
  size_t count;  // elements in all
  size_t world_size;
  size_t element_size;

  size_t Begin(size_t rank) const { return count * rank / world_size * element_size; }
  size_t Bytes(size_t rank) const { return Begin(rank + 1) - Begin(rank); }
  size_t ChunkBegin(size_t rank, size_t round) const {
    return Begin(rank) + std::min(round * kChunkBytes, Bytes(rank));
  }
  size_t ChunkBytes(size_t rank, size_t round) const {
    return ChunkBegin(rank, round + 1) - ChunkBegin(rank, round);
  }
  size_t Rounds() const {
    size_t largest = 0;
    for (size_t rank = 0; rank < world_size; ++rank) {
      largest = std::max(largest, Bytes(rank));
    }
    return (largest + kChunkBytes - 1) / kChunkBytes;
  }
};

HostGroup::HostGroup(int64_t rank, std::vector<Socket> peers)
    : rank_(rank), peers_(std::move(peers)), scratch_(peers_.size()) {
  CHECK(rank >= 0 && rank < world_size()) << rank << " of " << world_size();
  static_assert(sizeof(Header) == 24, "no padding on the wire");
}

void HostGroup::AllReduce(std::byte* data, size_t count, Element element) {
  Run({.kind = Header::Kind::kAllReduce, .element = element, .bytes = count * SizeOf(element)},
      [&] {
        const Shards shards{count, peers_.size(), SizeOf(element)};
        ReduceToOwners(data, data + shards.Begin(static_cast<size_t>(rank_)), shards, element,
                       data);
      });
}

void HostGroup::ReduceScatter(std::byte* output, const std::byte* input, size_t count,
                              Element element) {
  Run({.kind = Header::Kind::kReduceScatter, .element = element, .bytes = count * SizeOf(element)},
      [&] {
        ReduceToOwners(input, output, {count * peers_.size(), peers_.size(), SizeOf(element)},
                       element, nullptr);
      });
}

void HostGroup::AllGather(std::byte* output, const std::byte* input, size_t bytes) {
  Run({.kind = Header::Kind::kAllGather, .bytes = bytes}, [&] {
    auto traffic = NoTraffic();
    for (size_t r = 0; r < peers_.size(); ++r) {
      if (IsPeer(r)) {
        traffic[r].send[0] = {input, bytes};
        traffic[r].receive[0] = {output + r * bytes, bytes};
      }
    }
    if (bytes > 0) {
      std::memmove(output + static_cast<size_t>(rank_) * bytes, input, bytes);
    }
    Exchange(peers_, traffic);
  });
}

void HostGroup::Broadcast(std::byte* data, size_t bytes, int64_t root) {
  CHECK(root >= 0 && root < world_size()) << root << " of " << world_size();
  Run({.kind = Header::Kind::kBroadcast, .root = static_cast<uint16_t>(root), .bytes = bytes}, [&] {
    auto traffic = NoTraffic();
    if (rank_ != root) {
      traffic[static_cast<size_t>(root)].receive[0] = {data, bytes};
    }
    for (size_t r = 0; r < peers_.size() && rank_ == root; ++r) {
      if (IsPeer(r)) {
        traffic[r].send[0] = {data, bytes};
      }
    }
    Exchange(peers_, traffic);
  });
}

void HostGroup::Abort() noexcept {
  aborted_ = true;
  for (const Socket& peer : peers_) {
    peer.Shutdown();
  }
}

// Every collective: agree, do it, and let no error stay alone.
template <class Collective>
void HostGroup::Run(Header header, Collective collective) {
  header.sequence = sequence_++;
  if (aborted_) {
    throw CommError("the group was aborted, or failed before");
  }
  try {
    Agree(header);
    collective();
  } catch (const CommError& error) {
    const bool was_aborted = aborted_;
    Abort();
    throw CommError((was_aborted ? "aborted: " : "") + header.ToString() + " on rank " +
                    std::to_string(rank_) + ": " + error.what());
  }
}

void HostGroup::Agree(const Header& header) {
  std::vector<Header> theirs(peers_.size());
  auto traffic = NoTraffic();
  for (size_t r = 0; r < peers_.size(); ++r) {
    if (IsPeer(r)) {
      traffic[r].send[0] = std::as_bytes(std::span(&header, 1));
      traffic[r].receive[0] = std::as_writable_bytes(std::span(&theirs[r], 1));
    }
  }
  Exchange(peers_, traffic);
  for (size_t r = 0; r < peers_.size(); ++r) {
    if (IsPeer(r) && theirs[r] != header) {
      throw CommError("the ranks disagree: rank " + std::to_string(r) + " calls " +
                      theirs[r].ToString());
    }
  }
}

// Round k sends each owner chunk k of its shard and takes the peers' chunk k of the own shard. If
// the result is gathered, the same round carries the sums of round k − 1 from their owners to
// everybody. So one round more is needed; chunk k − 1 of the input is no longer read then.
void HostGroup::ReduceToOwners(const std::byte* input, std::byte* own_sum, const Shards& shards,
                               Element element, std::byte* gathered) {
  const auto own = static_cast<size_t>(rank_);
  const size_t rounds = shards.Rounds();
  for (size_t round = 0; round < rounds + (gathered != nullptr ? 1 : 0); ++round) {
    auto traffic = NoTraffic();
    for (size_t r = 0; r < peers_.size(); ++r) {
      if (!IsPeer(r)) {
        continue;
      }
      scratch_[r].resize(shards.ChunkBytes(own, round));
      traffic[r].send[0] = {input + shards.ChunkBegin(r, round), shards.ChunkBytes(r, round)};
      traffic[r].receive[0] = scratch_[r];
      if (gathered != nullptr && round > 0) {
        traffic[r].send[1] = {gathered + shards.ChunkBegin(own, round - 1),
                              shards.ChunkBytes(own, round - 1)};
        traffic[r].receive[1] = {gathered + shards.ChunkBegin(r, round - 1),
                                 shards.ChunkBytes(r, round - 1)};
      }
    }
    Exchange(peers_, traffic);
    SumChunk(input + shards.ChunkBegin(own, round),
             own_sum + (shards.ChunkBegin(own, round) - shards.Begin(own)),
             shards.ChunkBytes(own, round), element);
  }
}

void HostGroup::SumChunk(const std::byte* own, std::byte* sum, size_t bytes, Element element) {
  std::vector<const std::byte*> contributions(peers_.size());
  for (size_t r = 0; r < peers_.size(); ++r) {
    contributions[r] = IsPeer(r) ? scratch_[r].data() : own;
  }
  SumInRankOrder(sum, contributions, bytes / SizeOf(element), element);
}

}  // namespace trainctl::comm
