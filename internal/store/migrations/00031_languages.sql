-- +goose Up
-- The language and the time zone that a person chose for pages; '' means automatic (ADR 37).
ALTER TABLE users ADD COLUMN language TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN zone TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE users DROP COLUMN zone;
ALTER TABLE users DROP COLUMN language;
