-- +goose Up
-- For the operator: who may open the admin page, since when, and when an account last signed in. A
-- deleted account keeps its row without personal data, because shared records refer to it.
ALTER TABLE users ADD COLUMN admin_since BIGINT;
ALTER TABLE users ADD COLUMN last_sign_in_at BIGINT;
ALTER TABLE users ADD COLUMN deleted_at BIGINT;
UPDATE users SET last_sign_in_at = (SELECT max(d.seen_at) FROM devices d WHERE d.user_id = users.id);

-- +goose Down
ALTER TABLE users DROP COLUMN deleted_at;
ALTER TABLE users DROP COLUMN last_sign_in_at;
ALTER TABLE users DROP COLUMN admin_since;
