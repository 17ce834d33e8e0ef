// Safetensors files spelled out by hand, so that the reader is not tested against our own writer
// only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace trainctl::files {

// The header's length, the header as it stands, and the tensors' bytes.
inline std::string SafetensorsBytes(const std::string& header, const std::string& data) {
  std::string file;
  for (int i = 0; i < 8; ++i) file.push_back(static_cast<char>(uint64_t{header.size()} >> (8 * i)));
  return file + header + data;
}

inline std::string Text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace trainctl::files
