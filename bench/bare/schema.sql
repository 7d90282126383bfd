CREATE TABLE users (
  id TEXT NOT NULL PRIMARY KEY,
  email TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL
);

CREATE TABLE tokens (
  hash BLOB NOT NULL PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES users (id)
) WITHOUT ROWID;

CREATE TABLE warranties (
  id TEXT NOT NULL PRIMARY KEY,
  reference_number TEXT NOT NULL UNIQUE,
  owner_id TEXT NOT NULL REFERENCES users (id),
  issuer_id TEXT NOT NULL REFERENCES users (id),
  seller_id TEXT REFERENCES users (id),
  product_name TEXT NOT NULL,
  description TEXT,
  serial_number TEXT,
  category TEXT,
  supplier TEXT,
  seller_name TEXT,
  seller_email TEXT,
  start_date TEXT NOT NULL,
  end_date TEXT NOT NULL,
  status TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);

-- Who can see a record. Conditions on three columns with OR would sort a whole long list for one page.
CREATE TABLE members (
  user_id TEXT NOT NULL,
  warranty_id TEXT NOT NULL,
  PRIMARY KEY (user_id, warranty_id)
) WITHOUT ROWID;

CREATE TABLE idempotency (
  user_id TEXT NOT NULL,
  key TEXT NOT NULL,
  response BLOB NOT NULL,
  PRIMARY KEY (user_id, key)
) WITHOUT ROWID;
