-- +goose Up
-- The total size of a user's uploads is computed on every upload.
CREATE INDEX documents_of_uploader ON documents (uploader_id, size_bytes);
-- Deleting a warranty deletes its documents. The sweep at startup deletes their files.
DELETE FROM documents WHERE warranty_id IN (SELECT id FROM warranties WHERE deleted_at IS NOT NULL);

-- +goose Down
DROP INDEX documents_of_uploader;
