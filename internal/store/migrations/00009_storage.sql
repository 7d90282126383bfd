-- +goose Up
-- What a person has uploaded is added up with every upload.
CREATE INDEX documents_of_uploader ON documents (uploader_id, size_bytes);
-- A warranty's documents go with it. The sweep at the start removes their files.
DELETE FROM documents WHERE warranty_id IN (SELECT id FROM warranties WHERE deleted_at IS NOT NULL);

-- +goose Down
DROP INDEX documents_of_uploader;
