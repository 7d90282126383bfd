-- +goose Up
-- What waits for a seller is found without reading what the seller has confirmed.
CREATE INDEX warranties_to_confirm ON warranties (seller_email, id)
  WHERE seller_email IS NOT NULL AND seller_id IS NULL AND deleted_at IS NULL;
CREATE INDEX warranties_by_confirmed_seller ON warranties (seller_email, seller_id, id)
  WHERE seller_email IS NOT NULL AND seller_id IS NOT NULL AND deleted_at IS NULL;

-- +goose Down
DROP INDEX warranties_by_confirmed_seller;
DROP INDEX warranties_to_confirm;
