-- +goose Up
-- For reminders, which would otherwise read all warranties every day.
CREATE INDEX warranties_by_end ON warranties (end_date, id) WHERE standing = 1 AND deleted_at IS NULL;

-- Users who are being linked as sellers to more warranties than one transaction links. after_id is the
-- last one that was linked.
CREATE TABLE seller_links (
  user_id UUID NOT NULL PRIMARY KEY,
  after_id UUID NOT NULL,
  door SMALLINT NOT NULL
);

-- Words inside Chinese and Japanese text are found now: indexes of long lists are built again.
DELETE FROM find_lists;

-- +goose Down
DROP TABLE seller_links;
DROP INDEX warranties_by_end;
