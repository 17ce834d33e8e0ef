#include "server/store/schema.h"

#include <array>

namespace trainctl::store {
namespace {

// Times are wall micros, 0 = not yet. Names of states and outcomes are those that people see. What
// a job or an attempt came to stands in seven columns: outcome … last_log_lines, all null until the
// end.
//
// series + points: a series is one metric of one run, rank (-1: of the whole gang) and phase, with
// the summary that is kept at ingestion; its points hold one value a step, of the latest attempt
// that reached it. A null value is NaN.
constexpr const char* kVersion1 = R"sql(
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
)sql";

// bytes 0: not known.
constexpr const char* kVersion2 = R"sql(
ALTER TABLE artefacts ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE artefacts ADD COLUMN at INTEGER NOT NULL DEFAULT 0;
)sql";

// forced: submitted though it was predicted to fit no device, or before anybody could tell.
constexpr const char* kVersion3 = R"sql(
ALTER TABLE jobs ADD COLUMN forced INTEGER NOT NULL DEFAULT 0;
)sql";

// auto_micro_batch 0: a number was asked for. micro_batch_size 0: not known.
constexpr const char* kVersion4 = R"sql(
ALTER TABLE jobs ADD COLUMN auto_micro_batch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job_status ADD COLUMN proven_by INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN micro_batch_size INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN trial TEXT NOT NULL DEFAULT 'none';
)sql";

// first_step: what a resumed attempt began behind. Rates are made from the totals of their series.
constexpr const char* kVersion5 = R"sql(
ALTER TABLE ranks ADD COLUMN first_step INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ranks DROP COLUMN tokens_per_second;
ALTER TABLE job_status DROP COLUMN tokens_per_second;
)sql";

// record '': saved before records were kept.
constexpr const char* kVersion6 = R"sql(
ALTER TABLE artefacts ADD COLUMN record TEXT NOT NULL DEFAULT '';
)sql";

// id: tells this coordinator's jobs from those of others that are called j1, j2, … too.
constexpr const char* kSite = R"sql(
CREATE TABLE site (id TEXT NOT NULL) STRICT;
INSERT INTO site VALUES (lower(hex(randomblob(8))));
)sql";

// user: who submitted it, by the client's word; empty: not told.
constexpr const char* kVersion8 = R"sql(
ALTER TABLE jobs ADD COLUMN user TEXT NOT NULL DEFAULT '';
)sql";

// Whose ranks were on a host, without their rows.
constexpr const char* kVersion9 = R"sql(
CREATE INDEX ranks_by_host ON ranks (host, device_uuid);
)sql";

// identity: of the folder behind a worker's name; empty: not told.
constexpr const char* kVersion10 = R"sql(
ALTER TABLE workers ADD COLUMN identity TEXT NOT NULL DEFAULT '';
)sql";

// What was saved to a path, to be forgotten once it is gone.
constexpr const char* kVersion11 = R"sql(
CREATE INDEX artefacts_by_path ON artefacts (path);
)sql";

// What was refused is recorded too, and where a call came from; empty: not recorded.
constexpr const char* kVersion12 = R"sql(
ALTER TABLE audit ADD COLUMN address TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN verdict TEXT NOT NULL DEFAULT 'accepted';
)sql";

// Devices and hosts on which nothing new is placed: by whom, and why.
constexpr const char* kVersion13 = R"sql(
CREATE TABLE drains (
  target TEXT PRIMARY KEY,
  user TEXT NOT NULL,
  reason TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
)sql";

// max_parallel 0: any number of the group's jobs at once.
constexpr const char* kVersion14 = R"sql(
ALTER TABLE groups ADD COLUMN max_parallel INTEGER NOT NULL DEFAULT 0;
)sql";

// What a model made of prompts at each evaluation.
constexpr const char* kContinuations = R"sql(
CREATE TABLE continuations (
  job INTEGER NOT NULL REFERENCES jobs,
  step INTEGER NOT NULL,
  place INTEGER NOT NULL,
  prompt TEXT NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (job, step, place)
) STRICT, WITHOUT ROWID;
)sql";

// over_at 0: not yet. Of one that was deleted before it began: before start.
constexpr const char* kLeases = R"sql(
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
)sql";

// What attempts of jobs that were removed had: it still counts for a fair share.
constexpr const char* kRemovedUse = R"sql(
CREATE TABLE removed_use (
  user TEXT NOT NULL,
  devices INTEGER NOT NULL,
  placed_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL
) STRICT;
CREATE INDEX removed_use_by_end ON removed_use (ended_at);
)sql";

// labels: "rack=r1,zone=b"; empty: none.
constexpr const char* kLabels = R"sql(
ALTER TABLE workers ADD COLUMN labels TEXT NOT NULL DEFAULT '';
)sql";

// Numbers of jobs that may have been given after the backup that this site was made of.
constexpr const char* kGaps = R"sql(
CREATE TABLE gaps (first INTEGER NOT NULL, last INTEGER NOT NULL) STRICT;
)sql";

// By a worker's XIDs. cleared: by an operator.
constexpr const char* kFaults = R"sql(
CREATE TABLE faults (
  worker TEXT NOT NULL,
  device_uuid TEXT NOT NULL,
  xid INTEGER NOT NULL,
  at INTEGER NOT NULL,
  cleared INTEGER NOT NULL,
  PRIMARY KEY (worker, xid)
) STRICT;
)sql";

// Jobs of whose points few are left (point_thinner.h).
constexpr const char* kThinned = R"sql(
CREATE TABLE thinned (job INTEGER PRIMARY KEY REFERENCES jobs, at INTEGER NOT NULL) STRICT;
)sql";

constexpr const char* kSlowDevices = R"sql(
CREATE TABLE slow_devices (
  worker TEXT PRIMARY KEY,
  device_uuid TEXT NOT NULL,
  job INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  rank INTEGER NOT NULL,
  ratio REAL NOT NULL,
  at INTEGER NOT NULL
) STRICT;
)sql";

// Jobs whose ranks' output was removed for its age.
constexpr const char* kLogsRemoved = R"sql(
CREATE TABLE logs_removed (job INTEGER PRIMARY KEY REFERENCES jobs, at INTEGER NOT NULL) STRICT;
)sql";

// 0: its worker has not told.
constexpr const char* kHostMemory = R"sql(
ALTER TABLE workers ADD COLUMN host_memory_bytes INTEGER NOT NULL DEFAULT 0;
)sql";

// links: "GPU-1 NVLink", one a line (common/job/link.h); empty: none.
constexpr const char* kLinks = R"sql(
ALTER TABLE workers ADD COLUMN links TEXT NOT NULL DEFAULT '';
)sql";

// held_devices: that count as its owner's while the rank has its own (server/core/held.h).
constexpr const char* kHeldDevices = R"sql(
ALTER TABLE ranks ADD COLUMN held_devices INTEGER NOT NULL DEFAULT 1;
CREATE INDEX leases_by_end ON leases (end_at) WHERE over_at != 0;
)sql";

// When an attempt was placed, by the steady clock of this boot of the coordinator's host.
constexpr const char* kPlacedSteady = R"sql(
ALTER TABLE attempts ADD COLUMN placed_steady INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN placed_boot TEXT NOT NULL DEFAULT '';
)sql";

constexpr std::array kMigrations = {
    kVersion1,      kVersion2,    kVersion3,   kVersion4,  kVersion5,    kVersion6,    kSite,
    kVersion8,      kVersion9,    kVersion10,  kVersion11, kVersion12,   kVersion13,   kVersion14,
    kContinuations, kLeases,      kRemovedUse, kLabels,    kGaps,        kFaults,      kThinned,
    kSlowDevices,   kLogsRemoved, kHostMemory, kLinks,     kHeldDevices, kPlacedSteady};

}  // namespace

Migrations Schema() { return kMigrations; }

}  // namespace trainctl::store
