ALTER TABLE ranks ADD COLUMN held_devices INTEGER NOT NULL DEFAULT 1;
CREATE INDEX leases_by_end ON leases (end_at) WHERE over_at != 0;
