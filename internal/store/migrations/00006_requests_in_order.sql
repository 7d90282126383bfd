-- +goose Up
-- One row is inserted per request, so the table is ordered by time: new rows are appended, and only
-- one index must be searched. The user of a request is found by its token.
DROP INDEX requests_by_age;
ALTER TABLE requests RENAME TO requests_by_user;
CREATE TABLE requests (
  at BIGINT NOT NULL,
  id UUID NOT NULL,
  token_id UUID NOT NULL,
  method TEXT NOT NULL,
  route TEXT NOT NULL,
  status SMALLINT NOT NULL,
  ms INTEGER NOT NULL,
  request_id TEXT NOT NULL,
  address TEXT NOT NULL,
  client TEXT NOT NULL,
  door SMALLINT NOT NULL,
  PRIMARY KEY (at, id)
) /*sqlite: WITHOUT ROWID */;
INSERT INTO requests SELECT at, id, token_id, method, route, status, ms, request_id, address, client, door FROM requests_by_user;
DROP TABLE requests_by_user;
CREATE INDEX requests_of_token ON requests (token_id, id);

-- +goose Down
ALTER TABLE requests RENAME TO requests_in_order;
CREATE TABLE requests (
  user_id UUID NOT NULL,
  id UUID NOT NULL,
  token_id UUID NOT NULL,
  at BIGINT NOT NULL,
  method TEXT NOT NULL,
  route TEXT NOT NULL,
  status SMALLINT NOT NULL,
  ms INTEGER NOT NULL,
  request_id TEXT NOT NULL,
  address TEXT NOT NULL,
  client TEXT NOT NULL,
  door SMALLINT NOT NULL,
  PRIMARY KEY (user_id, id)
) /*sqlite: WITHOUT ROWID */;
INSERT INTO requests SELECT k.user_id, q.id, q.token_id, q.at, q.method, q.route, q.status, q.ms, q.request_id, q.address, q.client, q.door
  FROM requests_in_order q JOIN tokens k ON k.id = q.token_id;
DROP TABLE requests_in_order;
CREATE INDEX requests_of_token ON requests (token_id, id);
CREATE INDEX requests_by_age ON requests (at);
