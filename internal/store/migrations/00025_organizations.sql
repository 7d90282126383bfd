-- +goose Up
-- Organizations (ADR 31).

-- Every address belongs to one account. A person has the one of their row in users, where it is also
-- verified. id and verified_at are set for organizations only.
CREATE TABLE addresses (
  email TEXT NOT NULL PRIMARY KEY,
  account_id UUID NOT NULL,
  id UUID,
  verified_at BIGINT
);
INSERT INTO addresses (email, account_id) SELECT email, id FROM users;
CREATE INDEX addresses_of_account ON addresses (account_id);

-- On PostgreSQL, adding a column waits for the transactions that use the table, and locks it until the
-- end. The tables are in the order in which most transactions use them.

-- Who made a calendar feed or a token of an organization; NULL for the account itself.
ALTER TABLE calendars ADD COLUMN created_by UUID;
ALTER TABLE tokens ADD COLUMN created_by UUID;
-- Whether an admin of a deleted organization may restore it: not if an operator deleted it.
ALTER TABLE erasures ADD COLUMN restorable SMALLINT NOT NULL DEFAULT 0;
-- The row of an organization in users is an account that nobody signs in to: what refers to a user refers
-- to an account. kind: 1 person, 2 organization. The addresses were copied before, so that users is not
-- locked for long; those that changed meanwhile are copied again.
ALTER TABLE users ADD COLUMN kind SMALLINT NOT NULL DEFAULT 1;
/*pg:
DELETE FROM addresses a WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.email = a.email AND u.id = a.account_id);
INSERT INTO addresses (email, account_id) SELECT u.email, u.id FROM users u
  WHERE NOT EXISTS (SELECT 1 FROM addresses a WHERE a.email = u.email);
*/

-- What customers see of an organization.
CREATE TABLE organizations (
  id UUID NOT NULL PRIMARY KEY,
  website TEXT,
  contact_email TEXT,
  contact_phone TEXT
);

-- role: 1 admin, 2 member, 3 viewer, 0 removed. Writes for an organization hold the row of their
-- member, and a removed row is deleted once nothing holds it. mail_choices are bits as in users.
CREATE TABLE members (
  account_id UUID NOT NULL,
  user_id UUID NOT NULL,
  role SMALLINT NOT NULL,
  mail_choices SMALLINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (account_id, user_id)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX members_of_user ON members (user_id, account_id);

CREATE TABLE invitations (
  id UUID NOT NULL PRIMARY KEY,
  account_id UUID NOT NULL,
  email TEXT NOT NULL,
  role SMALLINT NOT NULL,
  code_hash BYTEA NOT NULL UNIQUE,
  invited_by UUID NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  UNIQUE (account_id, email)
);
CREATE INDEX invitations_by_age ON invitations (expires_at);

-- Codes that were emailed to an address which an organization wants to have. For the conversion of a
-- person's account, names holds the names of the organization and of its first admin.
CREATE TABLE address_codes (
  code_hash BYTEA NOT NULL PRIMARY KEY,
  account_id UUID NOT NULL,
  email TEXT NOT NULL,
  names TEXT,
  expires_at BIGINT NOT NULL
);
CREATE INDEX address_codes_of_account ON address_codes (account_id);
CREATE INDEX address_codes_by_age ON address_codes (expires_at);

-- People's addresses are copied by triggers, also for older releases.
/*pg:
-- +goose StatementBegin
CREATE FUNCTION copy_address() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO addresses (email, account_id) VALUES (NEW.email, NEW.id);
  ELSE
    UPDATE addresses SET email = NEW.email WHERE email = OLD.email AND account_id = NEW.id;
  END IF;
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER address_insert AFTER INSERT ON users FOR EACH ROW WHEN (NEW.kind = 1) EXECUTE FUNCTION copy_address();
CREATE TRIGGER address_update AFTER UPDATE OF email ON users FOR EACH ROW
  WHEN (NEW.kind = 1 AND NEW.email <> OLD.email) EXECUTE FUNCTION copy_address();
*/
-- On SQLite, a trigger on an update would change the row count that the service checks. This one
-- replaces what an older release leaves behind when it changes an address.
/*sqlite:
-- +goose StatementBegin
CREATE TRIGGER address_insert AFTER INSERT ON users WHEN NEW.kind = 1
BEGIN
  DELETE FROM addresses WHERE email = NEW.email AND verified_at IS NULL;
  INSERT INTO addresses (email, account_id) VALUES (NEW.email, NEW.id);
END;
-- +goose StatementEnd
*/

-- Accounts that are being linked as sellers by one of their addresses to more warranties than one
-- transaction links. It takes the place of seller_links, which older releases still write.
CREATE TABLE address_links (
  email TEXT NOT NULL PRIMARY KEY,
  account_id UUID NOT NULL,
  after_id UUID NOT NULL,
  door SMALLINT NOT NULL
);

-- The organization that an actor acted for.
ALTER TABLE history ADD COLUMN account TEXT;
-- What operators did; history_of_operators, which older releases use, also has what members did.
CREATE INDEX history_by_operators ON history (id) WHERE action >= 15 AND action <= 24 OR door = 5;

-- The claims that wait for an account; see store/organizations.go.
CREATE INDEX access_waiting ON access (user_id, status, roles)
  WHERE kind = 2 AND (status IN (1, 2, 4) AND roles & 1 = 0 OR status = 3 AND roles & 1 = 1);

-- Who gets the emails of an account: a person; or the members of an organization who chose them, and
-- otherwise its contact address if it is verified. choices are bits as in users.mail_choices.
CREATE VIEW recipients AS
SELECT u.id AS account_id, u.id AS user_id, u.name AS name, u.email AS email, u.mail_choices AS choices
  FROM users u WHERE u.kind = 1 AND u.verified_at IS NOT NULL AND u.disabled_at IS NULL
UNION ALL
SELECT m.account_id, m.user_id, u.name, u.email, m.mail_choices
  FROM members m JOIN users u ON u.id = m.user_id JOIN users o ON o.id = m.account_id
  WHERE m.role > 0 AND u.verified_at IS NOT NULL AND u.disabled_at IS NULL AND o.disabled_at IS NULL
UNION ALL
SELECT o.id, o.id, u.name, a.email, 7 - COALESCE((
    SELECT max(m.mail_choices & 1) + max(m.mail_choices & 2) + max(m.mail_choices & 4)
    FROM members m JOIN users p ON p.id = m.user_id
    WHERE m.account_id = o.id AND m.role > 0 AND p.verified_at IS NOT NULL AND p.disabled_at IS NULL), 0)
  FROM organizations o JOIN users u ON u.id = o.id JOIN addresses a ON a.email = o.contact_email AND a.account_id = o.id
  WHERE u.disabled_at IS NULL AND a.verified_at IS NOT NULL;

-- +goose Down
DROP VIEW recipients;
DROP INDEX access_waiting;
DROP INDEX history_by_operators;
ALTER TABLE history DROP COLUMN account;
ALTER TABLE erasures DROP COLUMN restorable;
ALTER TABLE calendars DROP COLUMN created_by;
ALTER TABLE tokens DROP COLUMN created_by;
DROP TABLE address_links;
/*pg: DROP TRIGGER address_update ON users; */
DROP TRIGGER address_insert /*pg: ON users */;
/*pg: DROP FUNCTION copy_address(); */
DROP TABLE addresses;
DROP TABLE address_codes;
DROP TABLE invitations;
DROP TABLE members;
DROP TABLE organizations;
ALTER TABLE users DROP COLUMN kind;
