// SQLite's write-ahead log beside a database, looked at before SQLite opens it. Internal to this
// room. Thread-safe.
#pragma once

#include <string>

#include "common/base/result.h"

namespace trainctl::store {

// SQLite takes the first frame whose checksum is wrong for the log's end. It forgets what was
// committed behind it. A power failure leaves such a frame too, but only in the last transaction:
// each is synced before the next begins. So kIo where two transactions end at or behind it, and
// where a log's header is damaged. The form: https://www.sqlite.org/fileformat2.html#walformat
base::Status CheckWriteAheadLog(const std::string& database_path);

}  // namespace trainctl::store
