-- +goose Up
-- Small pictures of documents, made when they are first shown (ADR 39). They belong to the file, because a document
-- can get another one. An empty content means that the file has no picture. Backups leave this table out.
CREATE TABLE thumbnails (
  storage_key TEXT /*pg: COLLATE "C" */ NOT NULL PRIMARY KEY,
  content BYTEA NOT NULL,
  made_at BIGINT NOT NULL
);

-- Files without a document: only account_id has access to them, and they expire. id is that of the document that the
-- file was or becomes. state: 1 kept by the person user_id for a form or a message that was not sent yet, 2
-- replaced by another file of the document replaced_id. The other columns are those of documents.
-- Older releases take the files for orphans, which they move to the trash of the file store after a day.
CREATE TABLE held_files (
  id UUID NOT NULL PRIMARY KEY,
  state SMALLINT NOT NULL,
  since BIGINT NOT NULL,
  account_id UUID NOT NULL,
  user_id UUID,
  replaced_id UUID,
  warranty_id UUID,
  claim_id UUID,
  uploader_id UUID NOT NULL,
  file_name TEXT NOT NULL,
  type SMALLINT NOT NULL,
  content_type TEXT NOT NULL,
  size_bytes BIGINT NOT NULL,
  sha256 BYTEA NOT NULL,
  storage_key TEXT NOT NULL UNIQUE,
  created_at BIGINT NOT NULL
);
CREATE INDEX held_files_of_account ON held_files (account_id, state, since);
CREATE INDEX held_files_of_uploader ON held_files (uploader_id, state, size_bytes);
CREATE INDEX held_files_by_age ON held_files (state, since);

-- Documents with the same content.
CREATE INDEX documents_by_content ON documents (warranty_id, sha256);

-- +goose Down
DROP INDEX documents_by_content;
DROP TABLE held_files;
DROP TABLE thumbnails;
