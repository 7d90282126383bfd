-- Undoing what was done with many warranties (ADR 63).

-- undone_at is when the change was taken back. mail_id is the email of an offer, which waits until the offer can no
-- longer be undone.
ALTER TABLE job_changes ADD COLUMN undone_at BIGINT;
ALTER TABLE job_changes ADD COLUMN mail_id UUID;

-- The codes that an action ended are kept whole, so that undoing it gives back what customers have on paper. held_by
-- is the job of the action. The other columns are those of offer_codes.
ALTER TABLE ended_codes ADD COLUMN held_by UUID;
ALTER TABLE ended_codes ADD COLUMN made_by UUID;
ALTER TABLE ended_codes ADD COLUMN transfer SMALLINT;
ALTER TABLE ended_codes ADD COLUMN email TEXT;
ALTER TABLE ended_codes ADD COLUMN signs_in_until BIGINT;
ALTER TABLE ended_codes ADD COLUMN documents TEXT;
CREATE INDEX ended_codes_held ON ended_codes (warranty_id) WHERE held_by IS NOT NULL;
