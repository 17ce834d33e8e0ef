#include "worker/data/digest.h"

#include <array>
#include <bit>
#include <cstdio>
#include <cstring>

namespace trainctl::data {
namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87, kPrime2 = 0xC2B2AE3D27D4EB4F, kPrime3 = 0x165667B19E3779F9, kPrime4 = 0x85EBCA77C2B2AE63,
                   kPrime5 = 0x27D4EB2F165667C5;
constexpr size_t kStripeBytes = 32;

template <class Word>
uint64_t Read(const std::byte* from) {  // little endian, as every machine this runs on
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

uint64_t Round(uint64_t lane, uint64_t input) { return std::rotl(lane + input * kPrime2, 31) * kPrime1; }

uint64_t MergeLane(uint64_t hash, uint64_t lane) { return (hash ^ Round(0, lane)) * kPrime1 + kPrime4; }

// Four lanes over the whole stripes, which are taken from the front of bytes.
uint64_t ConsumeStripes(std::span<const std::byte>* bytes) {
  std::array<uint64_t, 4> lanes = {kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1};
  for (; bytes->size() >= kStripeBytes; *bytes = bytes->subspan(kStripeBytes)) {
    for (size_t i = 0; i < lanes.size(); ++i) lanes[i] = Round(lanes[i], Read<uint64_t>(bytes->data() + 8 * i));
  }
  uint64_t hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
  for (const uint64_t lane : lanes) hash = MergeLane(hash, lane);
  return hash;
}

uint64_t ConsumeRest(uint64_t hash, std::span<const std::byte> rest) {
  for (; rest.size() >= 8; rest = rest.subspan(8)) hash = std::rotl(hash ^ Round(0, Read<uint64_t>(rest.data())), 27) * kPrime1 + kPrime4;
  if (rest.size() >= 4) {
    hash = std::rotl(hash ^ Read<uint32_t>(rest.data()) * kPrime1, 23) * kPrime2 + kPrime3;
    rest = rest.subspan(4);
  }
  for (const std::byte byte : rest) hash = std::rotl(hash ^ static_cast<uint64_t>(byte) * kPrime5, 11) * kPrime1;
  return hash;
}

uint64_t Avalanche(uint64_t hash) {
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

}  // namespace

uint64_t Xxh64(std::span<const std::byte> bytes) {
  const uint64_t total_bytes = bytes.size();
  const uint64_t hash = total_bytes >= kStripeBytes ? ConsumeStripes(&bytes) : kPrime5;
  return Avalanche(ConsumeRest(hash + total_bytes, bytes));
}

std::string Digest(std::span<const std::byte> bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "xxh64:%016llx", static_cast<unsigned long long>(Xxh64(bytes)));
  return text;
}

}  // namespace trainctl::data
