#include "common/job/memory_json.h"

#include <array>

namespace trainctl::job {
namespace {

struct Kind {
  const char* key;
  int64_t MemoryByKind::*bytes;
};

constexpr std::array<Kind, 8> kKinds = {{{"params", &MemoryByKind::params},
                                         {"grads", &MemoryByKind::grads},
                                         {"optimizer", &MemoryByKind::optimizer},
                                         {"optimizer_cpu", &MemoryByKind::optimizer_cpu},
                                         {"other", &MemoryByKind::other},
                                         {"allocated", &MemoryByKind::allocated},
                                         {"peak_allocated", &MemoryByKind::peak_allocated},
                                         {"reserved", &MemoryByKind::reserved}}};

}  // namespace

JsonNode ToNode(const MemoryByKind& memory) {
  JsonNode node = JsonNode::Object();
  for (const Kind& kind : kKinds) node.Add(kind.key, memory.*kind.bytes);
  return node;
}

void ReadMemory(JsonFields& fields, MemoryByKind& memory) {
  for (const Kind& kind : kKinds) fields.Read(kind.key, memory.*kind.bytes);
}

}  // namespace trainctl::job
