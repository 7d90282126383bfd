-- +goose Up
-- tries counts the attempts to make a small picture; 0 means that content is the result. An attempt is counted before
-- it begins, so that a file which makes the process die is not decoded again and again (ADR 39).
ALTER TABLE thumbnails ADD COLUMN tries SMALLINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE thumbnails DROP COLUMN tries;
