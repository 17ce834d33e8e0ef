// Bytes as zlib compresses them (RFC 1950). Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace trainctl::client {

// level: zlib's, 1 the fastest, 9 the smallest.
std::string Compressed(std::span<const uint8_t> bytes, int level);

}  // namespace trainctl::client
