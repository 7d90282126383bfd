-- +goose Up
-- The latest requests made with integration tokens, shown to their owner. route is the pattern,
-- never the requested URL.
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
CREATE INDEX requests_of_token ON requests (token_id, id);
CREATE INDEX requests_by_age ON requests (at);

-- +goose Down
DROP TABLE requests;
