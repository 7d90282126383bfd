-- +goose Up
-- The feed of changes (see feed.go). changed_at is when a warranty last changed for a user, by the
-- database's clock: created, updated, granted, or a role changed. Rows from before this migration
-- have 0.
ALTER TABLE access ADD COLUMN changed_at BIGINT NOT NULL DEFAULT 0;
CREATE INDEX access_by_change ON access (user_id, changed_at, item_id) WHERE kind = 1;

-- Warranties that a user lost access to.
CREATE TABLE gone (
  user_id UUID NOT NULL,
  at BIGINT NOT NULL,
  item_id UUID NOT NULL,
  PRIMARY KEY (user_id, at, item_id)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX gone_by_age ON gone (at);

-- The only row. began is the time of this migration. New stamps are at least floor, even if the
-- clock is set back. Every change with a stamp before settled is committed.
CREATE TABLE feed_marks (
  one SMALLINT NOT NULL PRIMARY KEY,
  began BIGINT NOT NULL,
  floor BIGINT NOT NULL,
  settled BIGINT NOT NULL
);
INSERT INTO feed_marks (one, began, floor, settled) SELECT 1, t.now, t.now, t.now FROM (SELECT
  /*pg: (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now */
  /*sqlite: CAST(unixepoch('subsec') * 1000000 AS INTEGER) AS now */) t;

-- Triggers stamp the changes, so that changes by a replica of the previous release are stamped too.
-- An update is noticed by its event (action 2): on SQLite, a trigger on warranties would change the
-- row count that the previous release checks.
/*pg:
-- +goose StatementBegin
CREATE FUNCTION feed_stamp() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.changed_at := greatest((extract(epoch FROM clock_timestamp()) * 1000000)::bigint, (SELECT floor FROM feed_marks));
  RETURN NEW;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION feed_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE access SET changed_at =
    greatest((extract(epoch FROM clock_timestamp()) * 1000000)::bigint, (SELECT floor FROM feed_marks))
    WHERE parent_id = NEW.thread_id AND kind = 1;
  RETURN NULL;
END $$;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION feed_loss() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO gone (user_id, at, item_id) VALUES (OLD.user_id,
    greatest((extract(epoch FROM clock_timestamp()) * 1000000)::bigint, (SELECT floor FROM feed_marks)), OLD.item_id)
    ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER feed_grant BEFORE INSERT ON access FOR EACH ROW
  WHEN (NEW.kind = 1 AND NEW.changed_at = 0) EXECUTE FUNCTION feed_stamp();
CREATE TRIGGER feed_roles BEFORE UPDATE OF roles ON access FOR EACH ROW
  WHEN (NEW.kind = 1 AND NEW.roles <> OLD.roles) EXECUTE FUNCTION feed_stamp();
CREATE TRIGGER feed_loss AFTER DELETE ON access FOR EACH ROW
  WHEN (OLD.kind = 1) EXECUTE FUNCTION feed_loss();
CREATE TRIGGER feed_update AFTER INSERT ON history FOR EACH ROW
  WHEN (NEW.action = 2) EXECUTE FUNCTION feed_update();
*/
/*sqlite:
-- +goose StatementBegin
CREATE TRIGGER feed_grant AFTER INSERT ON access WHEN NEW.kind = 1 AND NEW.changed_at = 0
BEGIN
  UPDATE access SET changed_at =
    max(CAST(unixepoch('subsec') * 1000000 AS INTEGER), coalesce((SELECT floor FROM feed_marks), 0))
    WHERE user_id = NEW.user_id AND kind = 1 AND item_id = NEW.item_id;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER feed_roles AFTER UPDATE OF roles ON access WHEN NEW.kind = 1 AND NEW.roles <> OLD.roles
BEGIN
  UPDATE access SET changed_at =
    max(CAST(unixepoch('subsec') * 1000000 AS INTEGER), coalesce((SELECT floor FROM feed_marks), 0))
    WHERE user_id = NEW.user_id AND kind = 1 AND item_id = NEW.item_id;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER feed_loss AFTER DELETE ON access WHEN OLD.kind = 1
BEGIN
  INSERT INTO gone (user_id, at, item_id) VALUES (OLD.user_id,
    max(CAST(unixepoch('subsec') * 1000000 AS INTEGER), coalesce((SELECT floor FROM feed_marks), 0)), OLD.item_id)
    ON CONFLICT DO NOTHING;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER feed_update AFTER INSERT ON history WHEN NEW.action = 2
BEGIN
  UPDATE access SET changed_at =
    max(CAST(unixepoch('subsec') * 1000000 AS INTEGER), coalesce((SELECT floor FROM feed_marks), 0))
    WHERE parent_id = NEW.thread_id AND kind = 1;
END;
-- +goose StatementEnd
*/

-- +goose Down
DROP TRIGGER feed_update /*pg: ON history */;
DROP TRIGGER feed_loss /*pg: ON access */;
DROP TRIGGER feed_roles /*pg: ON access */;
DROP TRIGGER feed_grant /*pg: ON access */;
/*pg: DROP FUNCTION feed_loss(), feed_update(), feed_stamp(); */
DROP TABLE feed_marks;
DROP TABLE gone;
DROP INDEX access_by_change;
ALTER TABLE access DROP COLUMN changed_at;
