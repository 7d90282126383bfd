-- +goose Up
-- Long lists of warranties that are indexed in segments (see segments.go). list identifies one index
-- and is never used again. built_to is null until every transaction that may not have seen the row has
-- ended, and then the last record that a segment was built for. An index answers once ready_at is set.
CREATE TABLE find_lists (
  user_id UUID NOT NULL PRIMARY KEY,
  list BIGINT NOT NULL UNIQUE,
  built_to UUID,
  ready_at BIGINT
);

-- Records that changed since their segment was made. n differs after every change.
CREATE TABLE find_pending (
  list BIGINT NOT NULL,
  item_id UUID NOT NULL,
  n BIGINT NOT NULL,
  PRIMARY KEY (list, item_id)
) /*sqlite: WITHOUT ROWID */;

-- A segment contains the records from first_id up to the first of the next segment. No two contents
-- of a segment have the same version.
CREATE TABLE find_segments (
  list BIGINT NOT NULL,
  seg BIGINT NOT NULL,
  first_id UUID NOT NULL,
  size INTEGER NOT NULL,
  version BIGINT NOT NULL,
  PRIMARY KEY (list, seg)
);

CREATE TABLE find_parts (
  list BIGINT NOT NULL,
  seg BIGINT NOT NULL,
  part BYTEA NOT NULL,
  data BYTEA NOT NULL,
  PRIMARY KEY (list, seg, part)
);
/*pg: ALTER TABLE find_parts ALTER COLUMN data SET STORAGE EXTERNAL; */

-- Changes of an older release, which runs while replicas are replaced, are not noted in find_pending.
-- They are found by their events since older_from: those of this release end with a space. find_older
-- has the events that were noted later.
CREATE TABLE find_state (
  one SMALLINT NOT NULL PRIMARY KEY,
  older_from BIGINT NOT NULL
);
INSERT INTO find_state (one, older_from) VALUES (1,
  /*pg: CAST(extract(epoch FROM clock_timestamp()) AS BIGINT) */ /*sqlite: unixepoch() */ * 1000000 - 600000000);
CREATE TABLE find_older (
  event_id UUID NOT NULL PRIMARY KEY,
  at BIGINT NOT NULL
);
CREATE INDEX history_unnoted ON history (at)
  WHERE length(rtrim(changes)) = length(changes) AND at >= 1794787200000000;

-- +goose Down
DROP INDEX history_unnoted;
DROP TABLE find_older;
DROP TABLE find_state;
DROP TABLE find_parts;
DROP TABLE find_segments;
DROP TABLE find_pending;
DROP TABLE find_lists;
