-- The color of the brand that an email is shown in, or an empty text.
ALTER TABLE mails ADD COLUMN color TEXT NOT NULL DEFAULT '';
