-- +goose Up
-- How far a person's list of one kind has changed other than by growing at its
-- newest end, for the counts that processes remember of it (see blocks.go).
CREATE TABLE list_epochs (
  user_id UUID NOT NULL,
  kind SMALLINT NOT NULL,
  epoch BIGINT NOT NULL,
  PRIMARY KEY (user_id, kind)
) /*sqlite: WITHOUT ROWID */;

-- The last changes, each in the slot of its epoch, which a later one takes over.
-- An item of zeros means that any may have changed.
CREATE TABLE list_changes (
  user_id UUID NOT NULL,
  kind SMALLINT NOT NULL,
  slot SMALLINT NOT NULL,
  epoch BIGINT NOT NULL,
  item_id UUID NOT NULL,
  PRIMARY KEY (user_id, kind, slot)
) /*sqlite: WITHOUT ROWID */;

-- +goose Down
DROP TABLE list_changes;
DROP TABLE list_epochs;
