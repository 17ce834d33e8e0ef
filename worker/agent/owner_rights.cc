#include "worker/agent/owner_rights.h"

#include "common/base/unix_account.h"

namespace trainctl::agent {

base::Status TakeRightsOf(const std::string& owner, const job::HostRules& rules) {
  const base::Result<std::string> user = job::UserOf(rules, owner);
  if (!user) return user.error();
  if (user->empty()) return base::Ok{};
  const base::Result<base::UnixAccount> account = base::FindAccount(*user);
  if (!account) return account.error();
  return base::BecomeForFiles(*account);
}

}  // namespace trainctl::agent
