CREATE TABLE faults (
  worker TEXT NOT NULL,
  device_uuid TEXT NOT NULL,
  xid INTEGER NOT NULL,
  at INTEGER NOT NULL,
  cleared INTEGER NOT NULL,
  PRIMARY KEY (worker, xid)
) STRICT;
