-- How organizations with a verified domain look to their customers (ADR 61).

-- color is "#rrggbb". What is not set is NULL.
CREATE TABLE brands (
  account_id UUID NOT NULL PRIMARY KEY,
  color TEXT,
  sender_name TEXT,
  postal_address TEXT
);

-- The logo of an organization, a PNG that the service made of the file that was sent. Its address is made of sha256.
CREATE TABLE logos (
  id UUID NOT NULL PRIMARY KEY,
  account_id UUID NOT NULL UNIQUE,
  storage_key TEXT /*pg: COLLATE "C" */ NOT NULL UNIQUE,
  sha256 BYTEA NOT NULL,
  size_bytes BIGINT NOT NULL
);
CREATE INDEX logos_by_content ON logos (sha256);

-- Every file that is in use; stored_files has no logos.
CREATE VIEW used_files AS
SELECT storage_key, sha256, size_bytes FROM stored_files
UNION ALL SELECT storage_key, sha256, size_bytes FROM logos;
