#include "tests/images/sample_pictures.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/base/file.h"
#include "tests/checkout.h"
#include "worker/rank/images/codecs.h"

namespace trainctl::images {

std::string SamplePath(const std::string& name) {
  return checkout::File("tests/baselines/images/" + name);
}

std::string SampleBytes(const std::string& name) {
  return base::ReadFile(SamplePath(name), 1 << 20).value();
}

std::map<std::string, Expected> Samples() {
  std::map<std::string, Expected> samples;
  const auto document = nlohmann::json::parse(SampleBytes("images.json"));
  for (const auto& [name, value] : document.items()) {
    Expected& expected = samples[name];
    expected.refused = value.value("refused", "");
    if (!expected.refused.empty()) continue;
    expected.width = value["size"][0];
    expected.height = value["size"][1];
    expected.rgb = value["rgb"];
    expected.pixels = value["pixels"];
  }
  return samples;
}

std::string Fnv1a(const std::vector<uint8_t>& bytes) {
  uint64_t digest = 0xCBF29CE484222325;
  for (const uint8_t byte : bytes) digest = (digest ^ byte) * 0x100000001B3;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(digest));
  return text;
}

bool CanRead(const std::string& name) { return HasWebp() || !name.ends_with(".webp"); }

}  // namespace trainctl::images
