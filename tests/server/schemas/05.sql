ALTER TABLE ranks ADD COLUMN first_step INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ranks DROP COLUMN tokens_per_second;
ALTER TABLE job_status DROP COLUMN tokens_per_second;
