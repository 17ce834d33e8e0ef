// The table of bearer tokens, and short texts of people and of browsers.
#include <string>

#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/size.h"
#include "common/base/utf8.h"
#include "common/job/constraint.h"
#include "common/rank/cpu_list.h"
#include "server/auth/listen_address.h"
#include "server/auth/token_table.h"
#include "server/auth/unix_policy.h"
#include "server/web/target.h"
#include "tests/fuzz/scratch_file.h"
#include "tests/fuzz/targets.h"

namespace trainctl::fuzz {

bool ReadTokens(std::string_view bytes) {
  static const ScratchFolder folder;
  const base::FakeClock clock;
  const std::string path = folder.Write("tokens", bytes);
  const auto table = auth::TokenTable::Open(path, clock);
  if (!table) return false;
  const size_t before = (*table)->List().size();
  const auto made = (*table)->Create({"anna", "user", 3600});
  CHECK(made.ok()) << made.error().message;
  CHECK((*table)->Find(made->text).ok());
  const auto again = auth::TokenTable::Open(path, clock);
  CHECK(again.ok()) << again.error().message;
  CHECK((*again)->List().size() <= before + 1);
  return true;
}

bool ReadWords(std::string_view bytes) {
  const auto size = base::ParseBytes(bytes);
  CHECK(!size || base::ParseBytes(base::SpellBytes(*size)) == size) << *size;
  const auto seconds = base::ParseDuration(bytes);
  CHECK(!seconds || base::ParseDuration(base::SpellDuration(*seconds)) == seconds) << *seconds;
  const auto cpus = job::ParseCpuList(bytes.substr(0, 256));
  CHECK(job::CpuListText(cpus).empty() == cpus.empty());
  std::string text(bytes);
  base::ReplaceInvalidUtf8(&text);
  CHECK(!base::FindInvalidUtf8(text));
  CHECK(base::Excerpt(bytes, 60).size() <= 60);
  const auto address = auth::ParseListenAddress(bytes);
  CHECK(!address || auth::ParseListenAddress(auth::ToString(*address)).ok());
  const auto public_address = auth::ParseTlsAddress(bytes);
  auth::UnixPolicy policy;
  const bool role = auth::AddRole(bytes, &policy).ok();
  bool constraint = false;
  for (const char* key : {"gpu.memory", "gpu.compute_capability", "gpu.model", "gpu.name", "host"})
    constraint |= job::ParseConstraint(key, bytes).ok();
  const auto target = web::ParseTarget(bytes);
  CHECK(!target || !base::FindInvalidUtf8(target->path));
  return size || seconds || !cpus.empty() || address || public_address || role || constraint ||
         target;
}

}  // namespace trainctl::fuzz
