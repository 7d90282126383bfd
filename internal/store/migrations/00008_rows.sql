-- +goose Up
-- On SQLite, lists find records by rowid, which access repeats. Finding them by id would take a
-- search in an index and another in the table. PostgreSQL has no stable row numbers and needs no
-- change.
/*sqlite: ALTER TABLE access ADD COLUMN item_row INTEGER NOT NULL DEFAULT 0; */
/*sqlite: ALTER TABLE warranties RENAME TO warranties_by_id; */
/*sqlite: CREATE TABLE warranties (row INTEGER NOT NULL PRIMARY KEY, id BLOB NOT NULL UNIQUE, reference TEXT NOT NULL UNIQUE, issuer_id BLOB NOT NULL, product_name TEXT NOT NULL, description TEXT, serial_number TEXT, category TEXT, folded_category TEXT NOT NULL, supplier TEXT, seller_name TEXT, seller_email TEXT, start_date INTEGER NOT NULL, end_date INTEGER NOT NULL, standing SMALLINT NOT NULL, search TEXT NOT NULL, version BIGINT NOT NULL, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, deleted_at BIGINT); */
/*sqlite: INSERT INTO warranties (id, reference, issuer_id, product_name, description, serial_number, category, folded_category, supplier, seller_name, seller_email, start_date, end_date, standing, search, version, created_at, updated_at, deleted_at) SELECT id, reference, issuer_id, product_name, description, serial_number, category, folded_category, supplier, seller_name, seller_email, start_date, end_date, standing, search, version, created_at, updated_at, deleted_at FROM warranties_by_id ORDER BY id; */
/*sqlite: DROP TABLE warranties_by_id; */
/*sqlite: CREATE INDEX warranties_by_seller_email ON warranties (seller_email, id) WHERE seller_email IS NOT NULL; */
/*sqlite: UPDATE access SET item_row = (SELECT row FROM warranties WHERE id = item_id) WHERE kind = 1; */
SELECT 1;

-- +goose Down
/*sqlite: ALTER TABLE access DROP COLUMN item_row; */
/*sqlite: ALTER TABLE warranties RENAME TO warranties_by_row; */
/*sqlite: CREATE TABLE warranties (id BLOB NOT NULL PRIMARY KEY, reference TEXT NOT NULL UNIQUE, issuer_id BLOB NOT NULL, product_name TEXT NOT NULL, description TEXT, serial_number TEXT, category TEXT, folded_category TEXT NOT NULL, supplier TEXT, seller_name TEXT, seller_email TEXT, start_date INTEGER NOT NULL, end_date INTEGER NOT NULL, standing SMALLINT NOT NULL, search TEXT NOT NULL, version BIGINT NOT NULL, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, deleted_at BIGINT); */
/*sqlite: INSERT INTO warranties SELECT id, reference, issuer_id, product_name, description, serial_number, category, folded_category, supplier, seller_name, seller_email, start_date, end_date, standing, search, version, created_at, updated_at, deleted_at FROM warranties_by_row ORDER BY row; */
/*sqlite: DROP TABLE warranties_by_row; */
/*sqlite: CREATE INDEX warranties_by_seller_email ON warranties (seller_email, id) WHERE seller_email IS NOT NULL; */
SELECT 1;
