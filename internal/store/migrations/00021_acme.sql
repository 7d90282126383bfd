-- +goose Up
-- What svcd --acme shares between replicas: account keys, certificates with their keys, the challenge
-- that is being answered, and who orders. until is when a value expires, or when the next order may
-- start.
CREATE TABLE acme (
  name TEXT /*pg: COLLATE "C" */ NOT NULL PRIMARY KEY,
  value TEXT NOT NULL,
  until BIGINT NOT NULL
);

-- +goose Down
DROP TABLE acme;
