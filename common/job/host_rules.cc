#include "common/job/host_rules.h"

#include <algorithm>
#include <string_view>

#include "common/base/file.h"
#include "common/job/job_paths.h"

namespace trainctl::job {
namespace {

base::Error Refused(const std::string& owner, const std::string& why) {
  const std::string whose = owner.empty() ? "of nobody known" : "of " + owner;
  return {base::Code::kInvalid, "jobs " + whose + " don't run on this host: " + why};
}

std::string WithOwner(std::string root, const std::string& owner) {
  constexpr std::string_view kPlaceholder = kOwnerPlaceholder;
  for (size_t at = root.find(kPlaceholder); at != std::string::npos;
       at = root.find(kPlaceholder, at + owner.size()))
    root.replace(at, kPlaceholder.size(), owner);
  return root;
}

}  // namespace

base::Result<std::string> UserOf(const HostRules& rules, const std::string& owner) {
  if (!rules.run_as_owner) return std::string();
  if (owner.empty()) return Refused(owner, "they would run as their owner");
  return owner;
}

base::Result<base::FileRoots> RootsOf(const HostRules& rules, const std::string& owner) {
  if (!rules.owners.empty() && std::ranges::find(rules.owners, owner) == rules.owners.end())
    return Refused(owner, "its trainworker --allow-user names others");
  base::FileRoots roots = rules.roots;
  for (std::vector<std::string>* folders : {&roots.read, &roots.write}) {
    for (std::string& folder : *folders) {
      const std::string named = WithOwner(folder, owner);
      if (named != folder && !base::IsFileName(owner))
        return Refused(owner, "no folder can have that name in place of " + folder);
      folder = named;
    }
  }
  return roots;
}

base::Status CheckByName(const HostRules& rules, const std::string& owner, const JobSpec& job) {
  const base::Result<std::string> user = UserOf(rules, owner);
  if (!user) return user.error();
  const base::Result<base::FileRoots> roots = RootsOf(rules, owner);
  if (!roots) return roots.error();
  for (const JobPath& named : PathsOf(job)) {
    const base::Status within = base::CheckNamedWithin(named.path, named.use, *roots);
    if (!within) return base::Error{base::Code::kDenied, named.key + ": " + within.error().message};
  }
  return base::Ok{};
}

}  // namespace trainctl::job
