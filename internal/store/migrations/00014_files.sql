-- +goose Up
-- The database's own id, in its one row, and the folder that holds the files of
-- its documents: both are written in the folder, so that no other database takes
-- it for its own and a replica notices that it uses another folder.
CREATE TABLE installation (
  one SMALLINT NOT NULL PRIMARY KEY,
  id UUID NOT NULL,
  folder_id UUID,
  files_swept_at BIGINT NOT NULL
);
INSERT INTO installation (one, id, files_swept_at) VALUES (1, /*pg: gen_random_uuid() */ /*sqlite: randomblob(16) */, 0);

-- Files that no document uses, and since when by the database's clock.
-- state: 1 its document was deleted, 2 no document knows it, 3 it is in the
-- trash, 4 it has not arrived completely. A deleted one counts for its uploader.
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
