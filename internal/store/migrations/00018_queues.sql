-- The queue of a claim (ADR 64).

-- In which queue a claim is for the account of its access row: 1 waiting for us, 2 in progress, 3 waiting for them, 4 done;
-- see waiting.go. queued_at is since when it waits, or when a claim that is done last changed, and assignee who works on it
-- for the account. queued_as is what the queue was found from: 1000 * status + 8 * start_date + roles. 1.0.0 does not write
-- these columns, so that the worker can tell which rows it wrote.
ALTER TABLE access ADD COLUMN queue SMALLINT NOT NULL DEFAULT 0;
ALTER TABLE access ADD COLUMN queued_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE access ADD COLUMN queued_as INTEGER NOT NULL DEFAULT 0;
ALTER TABLE access ADD COLUMN assignee UUID;

UPDATE access SET
  queue = CASE WHEN status NOT IN (1, 2, 3, 4, 6) THEN 4
    WHEN roles & 1 = 1 AND NOT EXISTS (SELECT 1 FROM access l WHERE l.parent_id = access.parent_id AND l.kind = 1
      AND (l.roles & 2 <> 0 OR l.roles & 5 = 4)) THEN 2
    WHEN status = 3 OR status = 2 AND start_date = 22 THEN CASE WHEN roles & 1 = 1 THEN 1 ELSE 3 END
    WHEN status IN (1, 2) OR status = 4 AND start_date = 41 OR status = 6 AND start_date = 61
      THEN CASE WHEN roles & 1 = 1 THEN 3 ELSE 1 END
    ELSE 2 END,
  queued_at = COALESCE((SELECT CASE WHEN c.status NOT IN (1, 2, 3, 4, 6) OR c.waiting_since = 0
    THEN c.updated_at ELSE c.waiting_since END FROM claims c WHERE c.id = access.item_id), 0),
  queued_as = 1000 * status + 8 * start_date + roles,
  assignee = (SELECT x.user_id FROM claim_assignees x WHERE x.claim_id = access.item_id AND x.account_id = access.user_id)
WHERE kind = 2;

-- Pages and counts of a queue read only this index. It replaces access_waiting and access_spoke, which 1.0.0 reads; a
-- later release drops them.
CREATE INDEX access_queue ON access (user_id, queue, queued_at, item_id, assignee, status, start_date, roles) WHERE kind = 2;
-- The claims that 1.0.0 filed or changed.
CREATE INDEX access_to_queue ON access (parent_id) WHERE kind = 2 AND queued_as <> 1000 * status + 8 * start_date + roles;
