-- +goose Up
-- Deleted warranties, for 30 days (ADR 35): the accounts that had access, and their roles. Documents and claims stay
-- meanwhile, without access. The row of an owner alone, for a warranty that is not deleted, means that the owner
-- removed it from their account. Warranties that an older release deletes have no row: their documents are gone.
CREATE TABLE trash (
  warranty_id UUID NOT NULL,
  account_id UUID NOT NULL,
  roles SMALLINT NOT NULL,
  deleted_at BIGINT NOT NULL,
  PRIMARY KEY (warranty_id, account_id)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX trash_of_account ON trash (account_id, deleted_at, warranty_id);
CREATE INDEX trash_by_age ON trash (deleted_at, warranty_id);

-- Deleted warranties whose content can still be erased, by age.
CREATE INDEX warranties_by_deletion ON warranties (deleted_at, id) WHERE deleted_at IS NOT NULL AND product_name <> '';

-- Saved views of an account's list of warranties. query is that of the page's URL; folded_name is the name without
-- regard to case.
CREATE TABLE views (
  id UUID NOT NULL PRIMARY KEY,
  account_id UUID NOT NULL,
  name TEXT NOT NULL,
  folded_name TEXT /*pg: COLLATE "C" */ NOT NULL,
  query TEXT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX views_of_account ON views (account_id, folded_name);

-- +goose Down
DROP TABLE views;
DROP INDEX warranties_by_deletion;
DROP TABLE trash;
