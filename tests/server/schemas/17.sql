CREATE TABLE removed_use (
  user TEXT NOT NULL,
  devices INTEGER NOT NULL,
  placed_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL
) STRICT;
CREATE INDEX removed_use_by_end ON removed_use (ended_at);
