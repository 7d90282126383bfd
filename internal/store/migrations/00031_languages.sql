-- +goose Up
-- The language and the time zone that a person chose for pages and emails; '' means automatic (ADR 37). The
-- seen ones are those of the browser at the last sign-in: emails use them if nothing was chosen.
ALTER TABLE users ADD COLUMN language TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN zone TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN seen_language TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN seen_zone TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE users DROP COLUMN seen_zone;
ALTER TABLE users DROP COLUMN seen_language;
ALTER TABLE users DROP COLUMN zone;
ALTER TABLE users DROP COLUMN language;
