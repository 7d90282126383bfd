-- The name of the service, as its pages and emails have it; empty for the name of the program.
ALTER TABLE service_settings ADD COLUMN name TEXT NOT NULL DEFAULT '';
