#include "common/wire/oom_detail.h"

#include <utility>

#include "common/wire/rank_key.h"
#include "proto/trainctl.pb.h"

namespace trainctl::wire {
namespace {

base::Error Negative(const std::string& field, int64_t value) {
  return {base::Code::kInvalid, field + ": " + std::to_string(value) + ": expected bytes, from 0"};
}

}  // namespace

v1::MemoryByKind ToWire(const job::MemoryByKind& memory) {
  v1::MemoryByKind message;
  message.set_params(memory.params);
  message.set_grads(memory.grads);
  message.set_optimizer(memory.optimizer);
  message.set_optimizer_cpu(memory.optimizer_cpu);
  message.set_other(memory.other);
  message.set_allocated(memory.allocated);
  message.set_peak_allocated(memory.peak_allocated);
  message.set_reserved(memory.reserved);
  return message;
}

v1::OomDetail ToWire(const job::OomDetail& oom) {
  v1::OomDetail message;
  message.set_rank(oom.rank);
  message.set_phase(oom.phase);
  message.set_requested_bytes(oom.requested_bytes);
  message.set_limit_bytes(oom.limit_bytes);
  *message.mutable_memory() = ToWire(oom.memory);
  return message;
}

base::Result<job::MemoryByKind> FromWire(const v1::MemoryByKind& message) {
  job::MemoryByKind memory;
  const std::pair<const char*, std::pair<int64_t, int64_t*>> fields[] = {
      {"memory.params", {message.params(), &memory.params}},
      {"memory.grads", {message.grads(), &memory.grads}},
      {"memory.optimizer", {message.optimizer(), &memory.optimizer}},
      {"memory.optimizer_cpu", {message.optimizer_cpu(), &memory.optimizer_cpu}},
      {"memory.other", {message.other(), &memory.other}},
      {"memory.allocated", {message.allocated(), &memory.allocated}},
      {"memory.peak_allocated", {message.peak_allocated(), &memory.peak_allocated}},
      {"memory.reserved", {message.reserved(), &memory.reserved}},
  };
  for (const auto& [name, field] : fields) {
    if (field.first < 0) return Negative(name, field.first);
    *field.second = field.first;
  }
  return memory;
}

base::Result<job::OomDetail> FromWire(const v1::OomDetail& message) {
  if (message.rank() < 0 || message.rank() > kMaxRank) {
    return base::Error{base::Code::kInvalid, "oom.rank: " + std::to_string(message.rank()) +
                                                 ": expected a number from 0"};
  }
  if (message.requested_bytes() < 0)
    return Negative("oom.requested_bytes", message.requested_bytes());
  if (message.limit_bytes() < 0) return Negative("oom.limit_bytes", message.limit_bytes());
  const auto memory = FromWire(message.memory());
  if (!memory) return base::Error{memory.error().code, "oom." + memory.error().message};
  return job::OomDetail{message.rank(), message.phase(), message.requested_bytes(),
                        message.limit_bytes(), *memory};
}

}  // namespace trainctl::wire
