// The pictures of tests/baselines/images.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace trainctl::images {

// What Pillow makes of one (tests/baselines/generate_images.py), or what our refusal says.
struct Expected {
  int64_t width = 0;
  int64_t height = 0;
  std::string rgb;     // FNV-1a digests
  std::string pixels;  //
  std::string refused;
};

std::string SamplePath(const std::string& name);
std::string SampleBytes(const std::string& name);
std::map<std::string, Expected> Samples();

std::string Fnv1a(const std::vector<uint8_t>& bytes);

// WebP of a build without libwebp: it can't be looked at.
bool CanRead(const std::string& name);

}  // namespace trainctl::images
