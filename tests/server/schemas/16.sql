CREATE TABLE leases (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  user TEXT NOT NULL,
  request_id TEXT NOT NULL,
  start_at INTEGER NOT NULL,
  end_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  over_at INTEGER NOT NULL
) STRICT;
CREATE INDEX leases_not_over ON leases (id) WHERE over_at = 0;

CREATE TABLE lease_workers (
  lease INTEGER NOT NULL REFERENCES leases,
  worker TEXT NOT NULL,
  PRIMARY KEY (lease, worker)
) STRICT, WITHOUT ROWID;
