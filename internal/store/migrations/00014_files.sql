-- +goose Up
-- The id of the database, in its only row, and the folder that holds the files of its documents.
-- Both ids are also stored in the folder, so that no other database uses it and a replica notices a
-- wrong folder.
CREATE TABLE installation (
  one SMALLINT NOT NULL PRIMARY KEY,
  id UUID NOT NULL,
  folder_id UUID,
  files_swept_at BIGINT NOT NULL
);
INSERT INTO installation (one, id, files_swept_at) VALUES (1, /*pg: gen_random_uuid() */ /*sqlite: randomblob(16) */, 0);

-- Files that no document uses, and since when by the database's clock. state: 1 document deleted, 2
-- orphaned, 3 in the trash, 4 upload incomplete. A deleted file counts towards its uploader's
-- storage.
CREATE TABLE unused_files (
  storage_key TEXT /*pg: COLLATE "C" */ NOT NULL PRIMARY KEY,
  state SMALLINT NOT NULL,
  since BIGINT NOT NULL,
  uploader_id UUID,
  size_bytes BIGINT NOT NULL
);
CREATE INDEX unused_files_by_age ON unused_files (state, since);
CREATE INDEX unused_files_of_uploader ON unused_files (uploader_id, size_bytes) WHERE uploader_id IS NOT NULL;

-- +goose Down
DROP TABLE unused_files;
DROP TABLE installation;
