-- +goose Up
-- Counts changes to a user's list of one kind, other than growth at its newest end, to invalidate
-- the counts cached by processes (see blocks.go).
CREATE TABLE list_epochs (
  user_id UUID NOT NULL,
  kind SMALLINT NOT NULL,
  epoch BIGINT NOT NULL,
  PRIMARY KEY (user_id, kind)
) /*sqlite: WITHOUT ROWID */;

-- The latest changes, each in the slot of its epoch; later changes overwrite it. An item of zeros
-- means that any item may have changed.
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
