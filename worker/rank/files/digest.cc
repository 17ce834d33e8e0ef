#include "worker/rank/files/digest.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

namespace trainctl::files {
namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87, kPrime2 = 0xC2B2AE3D27D4EB4F,
                   kPrime3 = 0x165667B19E3779F9, kPrime4 = 0x85EBCA77C2B2AE63,
                   kPrime5 = 0x27D4EB2F165667C5;

template <class Word>
uint64_t Read(const std::byte* from) {  // little endian, as every machine this runs on
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

uint64_t Round(uint64_t lane, uint64_t input) {
  return std::rotl(lane + input * kPrime2, 31) * kPrime1;
}

uint64_t MergeLane(uint64_t hash, uint64_t lane) {
  return (hash ^ Round(0, lane)) * kPrime1 + kPrime4;
}

// The four lanes over whole stripes. Held in registers: a rank digests gigabytes of its state.
void ConsumeStripes(std::array<uint64_t, 4>& lanes, const std::byte* from, size_t stripes) {
  uint64_t a = lanes[0], b = lanes[1], c = lanes[2], d = lanes[3];
  for (; stripes > 0; --stripes, from += 32) {
    a = Round(a, Read<uint64_t>(from));
    b = Round(b, Read<uint64_t>(from + 8));
    c = Round(c, Read<uint64_t>(from + 16));
    d = Round(d, Read<uint64_t>(from + 24));
  }
  lanes = {a, b, c, d};
}

uint64_t Merge(const std::array<uint64_t, 4>& lanes) {
  uint64_t hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) +
                  std::rotl(lanes[3], 18);
  for (const uint64_t lane : lanes) hash = MergeLane(hash, lane);
  return hash;
}

uint64_t ConsumeRest(uint64_t hash, std::span<const std::byte> rest) {
  for (; rest.size() >= 8; rest = rest.subspan(8))
    hash = std::rotl(hash ^ Round(0, Read<uint64_t>(rest.data())), 27) * kPrime1 + kPrime4;
  if (rest.size() >= 4) {
    hash = std::rotl(hash ^ Read<uint32_t>(rest.data()) * kPrime1, 23) * kPrime2 + kPrime3;
    rest = rest.subspan(4);
  }
  for (const std::byte byte : rest)
    hash = std::rotl(hash ^ static_cast<uint64_t>(byte) * kPrime5, 11) * kPrime1;
  return hash;
}

uint64_t Avalanche(uint64_t hash) {
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

std::string Spell(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "xxh64:%016llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

Xxh64Stream::Xxh64Stream() : lanes_{kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1}, rest_{} {}

void Xxh64Stream::Update(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const size_t held = total_bytes_ % kStripeBytes;
  total_bytes_ += bytes.size();
  if (held > 0) {
    const size_t taken = std::min(kStripeBytes - held, bytes.size());
    std::memcpy(rest_.data() + held, bytes.data(), taken);
    bytes = bytes.subspan(taken);
    if (held + taken < kStripeBytes) return;
    ConsumeStripes(lanes_, rest_.data(), 1);
  }
  const size_t stripes = bytes.size() / kStripeBytes;
  ConsumeStripes(lanes_, bytes.data(), stripes);
  bytes = bytes.subspan(stripes * kStripeBytes);
  if (!bytes.empty()) std::memcpy(rest_.data(), bytes.data(), bytes.size());
}

uint64_t Xxh64Stream::Value() const {
  const uint64_t hash = total_bytes_ >= kStripeBytes ? Merge(lanes_) : kPrime5;
  return Avalanche(
      ConsumeRest(hash + total_bytes_, std::span(rest_).first(total_bytes_ % kStripeBytes)));
}

std::string Xxh64Stream::Digest() const { return Spell(Value()); }

uint64_t Xxh64(std::span<const std::byte> bytes) {
  Xxh64Stream stream;
  stream.Update(bytes);
  return stream.Value();
}

std::string Digest(std::span<const std::byte> bytes) { return Spell(Xxh64(bytes)); }

}  // namespace trainctl::files
