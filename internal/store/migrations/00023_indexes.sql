-- +goose Up
-- Long lists that are indexed in segments (see segments.go): of warranties (kind 1), claims (2) and
-- documents (3). list identifies one index and is never used again. built_to is null until every
-- transaction that may not have seen the row has ended, and then the last record that a segment was
-- built for. An index answers once ready_at is set.
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

-- A segment contains the records from first_id up to the first of the next segment. No two contents
-- of a segment have the same version.
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

-- Changes of an older release, which runs while replicas are replaced, are not noted in index_pending.
-- They are found by their events since older_from: those of this release end with three spaces.
-- index_older has the events that were noted later.
CREATE TABLE index_state (
  one SMALLINT NOT NULL PRIMARY KEY,
  older_from BIGINT NOT NULL
);
INSERT INTO index_state (one, older_from) VALUES (1,
  /*pg: CAST(extract(epoch FROM clock_timestamp()) AS BIGINT) */ /*sqlite: unixepoch() */ * 1000000 - 600000000);
CREATE TABLE index_older (
  event_id UUID NOT NULL PRIMARY KEY,
  at BIGINT NOT NULL
);
CREATE INDEX index_older_by_age ON index_older (at);
CREATE INDEX history_by_older ON history (at)
  WHERE length(rtrim(changes)) > length(changes) - 3 AND at >= 1794787200000000;

-- The tables of migration 17, which have warranties only, are left to the previous release. It does not
-- use an index while the number of events in find_older differs from that of the events since older_from.
DELETE FROM find_lists;
DELETE FROM find_segments;
DELETE FROM find_parts;
DELETE FROM find_pending;
UPDATE find_state SET older_from = 9000000000000000000;
INSERT INTO find_older (event_id, at) VALUES (
  /*pg: '00000000-0000-0000-0000-000000000000' */ /*sqlite: zeroblob(16) */, 9000000000000000000)
  ON CONFLICT (event_id) DO NOTHING;

-- +goose Down
DELETE FROM find_older;
UPDATE find_state SET older_from = 0;
DROP INDEX history_by_older;
DROP TABLE index_older;
DROP TABLE index_state;
DROP TABLE index_parts;
DROP TABLE index_segments;
DROP TABLE index_pending;
DROP TABLE index_lists;
