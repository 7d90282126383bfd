-- Actions on many records, and decisions, that can be undone (ADR 57).

-- held_by is the job whose undo deletes the email while it waits, and held_for the account that gets it.
ALTER TABLE mails ADD COLUMN held_by UUID;
ALTER TABLE mails ADD COLUMN held_for UUID;
CREATE INDEX mails_held ON mails (claim_id) WHERE held_by IS NOT NULL;

-- Digests leave the claim out until then, because its change can be undone.
ALTER TABLE mail_digest ADD COLUMN held_until BIGINT NOT NULL DEFAULT 0;

-- What a job changed, with what undoing it restores. version is that of the record after the change.
CREATE TABLE job_changes (
  job_id UUID NOT NULL,
  row_number BIGINT NOT NULL,
  record_id UUID NOT NULL,
  version BIGINT NOT NULL,
  before TEXT NOT NULL,
  PRIMARY KEY (job_id, row_number)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX job_changes_of_record ON job_changes (record_id);
