// What records of other programs are made of: fields of Protobuf, for messages whose .proto is not
// ours, and sums of 32 bits. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace trainctl::track {

// The sum of iSCSI and SSE 4.2, by Castagnoli's polynomial.
uint32_t Crc32c(std::string_view bytes);
// The sum of zlib and Ethernet.
uint32_t Crc32(std::string_view bytes);

std::string LittleEndian(uint64_t value, int bytes);

// Fields, each with its key. Numbers of negative sign are of ten bytes, as int64 has them.
std::string VarintField(uint32_t field, uint64_t value);
std::string DoubleField(uint32_t field, double value);
std::string FloatField(uint32_t field, float value);
std::string BytesField(uint32_t field, std::string_view bytes);  // strings and messages too

}  // namespace trainctl::track
