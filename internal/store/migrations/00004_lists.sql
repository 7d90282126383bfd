-- Who sees what, in which order it changed, and the indexes of long lists.

-- One row per account and record, with a copy of the columns that lists filter on. Lists and single reads both use it,
-- so they cannot disagree. kind: 1 warranty, 2 claim, 3 document. parent_id is the warranty. roles: 1 owner, 2 issuer,
-- 4 seller. changed_at is when a warranty last changed for the account, by the database's clock: created, updated,
-- granted, or a role changed (see feed.go); 0 for claims and documents.
CREATE TABLE access (
  user_id UUID NOT NULL,
  kind SMALLINT NOT NULL,
  item_id UUID NOT NULL,
  parent_id UUID NOT NULL,
  roles SMALLINT NOT NULL,
  status SMALLINT NOT NULL,
  start_date INTEGER NOT NULL,
  end_date INTEGER NOT NULL,
  category TEXT /*pg: COLLATE "C" */ NOT NULL,
  /*sqlite: item_row INTEGER NOT NULL DEFAULT 0, */
  changed_at BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (user_id, kind, item_id) /*pg: INCLUDE (parent_id, roles, status, start_date, end_date, category) */
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX access_of_warranty ON access (parent_id);
CREATE INDEX access_by_change ON access (user_id, changed_at, item_id) WHERE kind = 1;
-- The claims that wait for an account; see waiting.go.
CREATE INDEX access_waiting ON access (user_id, status, roles)
  WHERE kind = 2 AND (status IN (1, 2, 4) AND roles & 1 = 0 OR status = 3 AND roles & 1 = 1);
CREATE INDEX access_spoke ON access (user_id, status, roles, start_date) WHERE kind = 2 AND start_date > 0;

-- Warranties that an account lost access to.
CREATE TABLE gone (
  user_id UUID NOT NULL,
  at BIGINT NOT NULL,
  item_id UUID NOT NULL,
  PRIMARY KEY (user_id, at, item_id)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX gone_by_age ON gone (at);

-- The only row. New stamps are at least floor, even if the clock is set back. Every change with a stamp before settled
-- is committed.
CREATE TABLE feed_marks (
  one SMALLINT NOT NULL PRIMARY KEY,
  floor BIGINT NOT NULL,
  settled BIGINT NOT NULL
);
INSERT INTO feed_marks (one, floor, settled) SELECT 1, t.now, t.now FROM (SELECT
  /*pg: (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now */
  /*sqlite: CAST(unixepoch('subsec') * 1000000 AS INTEGER) AS now */) t;

-- Long lists that are indexed in segments (see package lists). list identifies one index and is never used again.
-- built_to is NULL until every transaction that may not have seen the row has ended, and then the last record that a
-- segment was built for. An index answers once ready_at is set.
CREATE TABLE index_lists (
  user_id UUID NOT NULL,
  kind SMALLINT NOT NULL,
  list BIGINT NOT NULL UNIQUE,
  built_to UUID,
  ready_at BIGINT,
  PRIMARY KEY (user_id, kind)
);

-- Records that changed since their segment was made. n differs after every change.
CREATE TABLE index_pending (
  list BIGINT NOT NULL,
  item_id UUID NOT NULL,
  n BIGINT NOT NULL,
  PRIMARY KEY (list, item_id)
) /*sqlite: WITHOUT ROWID */;

-- A segment contains the records from first_id up to the first of the next segment. No two contents of a segment have
-- the same version.
CREATE TABLE index_segments (
  list BIGINT NOT NULL,
  seg BIGINT NOT NULL,
  first_id UUID NOT NULL,
  size INTEGER NOT NULL,
  version BIGINT NOT NULL,
  PRIMARY KEY (list, seg)
);

CREATE TABLE index_parts (
  list BIGINT NOT NULL,
  seg BIGINT NOT NULL,
  part BYTEA NOT NULL,
  data BYTEA NOT NULL,
  PRIMARY KEY (list, seg, part)
);
/*pg: ALTER TABLE index_parts ALTER COLUMN data SET STORAGE EXTERNAL; */

-- Saved views of an account's list of warranties. query is that of the page's URL; folded_name is the name without
-- regard to case.
CREATE TABLE views (
  id UUID NOT NULL PRIMARY KEY,
  account_id UUID NOT NULL,
  name TEXT NOT NULL,
  folded_name TEXT /*pg: COLLATE "C" */ NOT NULL,
  query TEXT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX views_of_account ON views (account_id, folded_name);
