-- +goose Up
-- This release stamps an update together with the other columns of access that it changes, and ends
-- the event's changes with two spaces. The trigger is left to older releases.
/*pg:
CREATE TRIGGER feed_update_older AFTER INSERT ON history FOR EACH ROW
  WHEN (NEW.action = 2 AND length(rtrim(NEW.changes)) > length(NEW.changes) - 2) EXECUTE FUNCTION feed_update();
*/
/*sqlite:
-- +goose StatementBegin
CREATE TRIGGER feed_update_older AFTER INSERT ON history
  WHEN NEW.action = 2 AND length(rtrim(NEW.changes)) > length(NEW.changes) - 2
BEGIN
  UPDATE access SET changed_at =
    max(CAST(unixepoch('subsec') * 1000000 AS INTEGER), coalesce((SELECT floor FROM feed_marks), 0))
    WHERE parent_id = NEW.thread_id AND kind = 1;
END;
-- +goose StatementEnd
*/
DROP TRIGGER feed_update /*pg: ON history */;

-- +goose Down
/*pg:
CREATE TRIGGER feed_update AFTER INSERT ON history FOR EACH ROW
  WHEN (NEW.action = 2) EXECUTE FUNCTION feed_update();
*/
/*sqlite:
-- +goose StatementBegin
CREATE TRIGGER feed_update AFTER INSERT ON history WHEN NEW.action = 2
BEGIN
  UPDATE access SET changed_at =
    max(CAST(unixepoch('subsec') * 1000000 AS INTEGER), coalesce((SELECT floor FROM feed_marks), 0))
    WHERE parent_id = NEW.thread_id AND kind = 1;
END;
-- +goose StatementEnd
*/
DROP TRIGGER feed_update_older /*pg: ON history */;
