-- +goose Up
-- The documents that go along with a transfer: their ids, separated by spaces. The others stay the former owner's, whose
-- id is in documents.owner_id.
ALTER TABLE transfers ADD COLUMN documents TEXT NOT NULL DEFAULT '';

-- The owner of the warranty when the claim was filed. Later owners do not read what it says.
ALTER TABLE claims ADD COLUMN owner_id UUID;

-- +goose Down
ALTER TABLE claims DROP COLUMN owner_id;
ALTER TABLE transfers DROP COLUMN documents;
