// What a token may be used for, as "read,submit": less than whatever its role may. One that says
// nothing of it is for all that its role may, whatever a later version adds to that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace trainctl::auth {

// A call needs one of them; permissions.cc says which.
enum class Scope {
  kNone,  // of no person's token: what workers call
  kRead,
  kSubmit,
  kCancel,
  kRemove,
  kLease,
  kOperate,
  kAdmin
};
std::string_view Name(Scope scope);  // "none", "read", …

class Scopes {
 public:
  // All.
  Scopes() = default;
  // "read,submit", in any order; empty: all. kInvalid.
  static base::Result<Scopes> Parse(std::string_view text);

  bool Has(Scope scope) const { return !bits_ || (*bits_ & BitOf(scope)) != 0; }
  // Whether all that these are for is within.
  bool Include(const Scopes& others) const;
  // Those that it names; empty: all.
  std::vector<Scope> Named() const;
  // As Parse reads it.
  std::string ToString() const;

 private:
  static uint32_t BitOf(Scope scope) { return uint32_t{1} << static_cast<uint32_t>(scope); }

  std::optional<uint32_t> bits_;  // nullopt: all
};

}  // namespace trainctl::auth
