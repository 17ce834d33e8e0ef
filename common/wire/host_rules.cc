#include "common/wire/host_rules.h"

#include <string>
#include <vector>

#include "proto/trainctl.pb.h"

namespace trainctl::wire {
namespace {

using Texts = google::protobuf::RepeatedPtrField<std::string>;

bool IsFit(const Texts& texts) {
  if (texts.size() > kMaxRules) return false;
  for (const std::string& text : texts) {
    if (text.size() > kMaxRuleBytes) return false;
  }
  return true;
}

std::vector<std::string> ListOf(const Texts& texts) { return {texts.begin(), texts.end()}; }

}  // namespace

v1::HostRules ToWire(const job::HostRules& rules) {
  v1::HostRules message;
  for (const std::string& owner : rules.owners) message.add_owners(owner);
  for (const std::string& root : rules.roots.read) message.add_read_roots(root);
  for (const std::string& root : rules.roots.write) message.add_write_roots(root);
  message.set_run_as_owner(rules.run_as_owner);
  return message;
}

base::Result<job::HostRules> FromWire(const v1::HostRules& message) {
  for (const Texts* texts : {&message.owners(), &message.read_roots(), &message.write_roots()}) {
    if (!IsFit(*texts))
      return base::Error{base::Code::kInvalid, "rules: too many, or too long ones"};
  }
  return job::HostRules{
      .owners = ListOf(message.owners()),
      .roots = {.read = ListOf(message.read_roots()), .write = ListOf(message.write_roots())},
      .run_as_owner = message.run_as_owner()};
}

}  // namespace trainctl::wire
