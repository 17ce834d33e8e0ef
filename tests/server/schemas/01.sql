CREATE TABLE submissions (
  request_id TEXT PRIMARY KEY,
  group_id INTEGER NOT NULL,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE groups (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  submitted_at INTEGER NOT NULL
) STRICT;
CREATE INDEX groups_by_name ON groups (name);

CREATE TABLE jobs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  group_id INTEGER NOT NULL,
  request_id TEXT NOT NULL REFERENCES submissions,
  name TEXT NOT NULL,
  spec TEXT NOT NULL,
  inspection TEXT NOT NULL,
  prediction TEXT NOT NULL,
  submitted_at INTEGER NOT NULL
) STRICT;
CREATE INDEX jobs_by_name ON jobs (name);
CREATE INDEX jobs_by_group ON jobs (group_id) WHERE group_id != 0;
CREATE INDEX jobs_by_request ON jobs (request_id);

CREATE TABLE job_status (
  job INTEGER PRIMARY KEY REFERENCES jobs,
  state TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  restarts INTEGER NOT NULL,
  cancel_requested INTEGER NOT NULL,
  outcome TEXT, message TEXT, end_rank INTEGER, exit_code INTEGER, signal INTEGER, oom TEXT, last_log_lines TEXT,
  as_expected INTEGER,
  started_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL,
  step INTEGER NOT NULL,
  steps INTEGER NOT NULL,
  loss REAL,
  tokens_per_second REAL,
  peak_allocated_bytes INTEGER NOT NULL,
  CHECK ((state = 'FINISHED') = (outcome IS NOT NULL))
) STRICT;
CREATE INDEX job_status_unfinished ON job_status (job) WHERE state != 'FINISHED';

CREATE TABLE attempts (
  job INTEGER NOT NULL REFERENCES jobs,
  attempt INTEGER NOT NULL,
  placed_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL,
  blob TEXT NOT NULL,
  stop_outcome TEXT, stop_message TEXT, stop_rank INTEGER, stop_grace_us INTEGER, stop_at INTEGER,
  outcome TEXT, message TEXT, end_rank INTEGER, exit_code INTEGER, signal INTEGER, oom TEXT, last_log_lines TEXT,
  PRIMARY KEY (job, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE ranks (
  job INTEGER NOT NULL, attempt INTEGER NOT NULL, rank INTEGER NOT NULL,
  worker TEXT NOT NULL,
  host TEXT NOT NULL,
  device_uuid TEXT NOT NULL,
  device_name TEXT NOT NULL,
  confirmed INTEGER NOT NULL,
  pid INTEGER NOT NULL, source_commit TEXT NOT NULL, libtorch TEXT NOT NULL, nccl TEXT NOT NULL, driver TEXT NOT NULL,
  started_device_name TEXT NOT NULL,
  phase TEXT NOT NULL, done_bytes INTEGER NOT NULL, total_bytes INTEGER NOT NULL,
  step INTEGER NOT NULL, steps INTEGER NOT NULL, stage TEXT NOT NULL, loss REAL, tokens_per_second REAL,
  peak_allocated_bytes INTEGER NOT NULL,
  outcome TEXT, message TEXT, oom TEXT,
  proof TEXT NOT NULL,
  exit_code INTEGER, signal INTEGER, oom_killed INTEGER NOT NULL, last_log_lines TEXT NOT NULL,
  failure TEXT NOT NULL,
  ended_by_stop INTEGER NOT NULL,
  ended_at INTEGER NOT NULL,
  PRIMARY KEY (job, attempt, rank),
  FOREIGN KEY (job, attempt) REFERENCES attempts
) STRICT, WITHOUT ROWID;

CREATE TABLE acks (
  job INTEGER NOT NULL, attempt INTEGER NOT NULL, rank INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  PRIMARY KEY (job, attempt, rank)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  job INTEGER NOT NULL REFERENCES jobs,
  at INTEGER NOT NULL,
  text TEXT NOT NULL
) STRICT;
CREATE INDEX events_by_job ON events (job);

CREATE TABLE artefacts (
  id INTEGER PRIMARY KEY,
  job INTEGER NOT NULL REFERENCES jobs, attempt INTEGER NOT NULL, rank INTEGER NOT NULL,
  kind TEXT NOT NULL,
  path TEXT NOT NULL
) STRICT;
CREATE INDEX artefacts_by_job ON artefacts (job);

CREATE TABLE workers (
  name TEXT PRIMARY KEY,
  host TEXT NOT NULL,
  boot_id TEXT NOT NULL,
  version TEXT NOT NULL,
  address TEXT NOT NULL,
  device_kind TEXT NOT NULL,
  device_index INTEGER NOT NULL,
  device_uuid TEXT NOT NULL,
  device_name TEXT NOT NULL,
  memory_bytes INTEGER NOT NULL,
  compute_capability TEXT NOT NULL,
  driver TEXT NOT NULL,
  threads INTEGER NOT NULL,
  last_seen INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE series (
  id INTEGER PRIMARY KEY,
  job INTEGER NOT NULL REFERENCES jobs,
  name TEXT NOT NULL,
  rank INTEGER NOT NULL,
  phase TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  latest_step INTEGER NOT NULL,
  latest REAL,
  minimum REAL,
  maximum REAL,
  total REAL NOT NULL,
  count INTEGER NOT NULL,
  UNIQUE (job, name, rank, phase)
) STRICT;

CREATE TABLE points (
  series INTEGER NOT NULL REFERENCES series,
  step INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  value REAL,
  time INTEGER NOT NULL,
  PRIMARY KEY (series, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  subject TEXT NOT NULL
) STRICT;
CREATE TRIGGER audit_is_append_only_1 BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_is_append_only_2 BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
