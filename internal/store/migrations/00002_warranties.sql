-- Warranties, their documents, and what happens to them.

-- On SQLite, lists find records by row, which access repeats: finding them by id would take a search in an index and
-- another in the table. seller_id is the account that confirmed the record, as it is now, as its seller, and named_by
-- the account that named the seller; NULL means the issuer. external_id is the issuer's own id; a deleted record frees
-- it. customer_name and the hand-over are the issuer's; offered_at and taken_at are those of the last hand-over.
CREATE TABLE warranties (
  /*sqlite: row INTEGER NOT NULL PRIMARY KEY, */
  id UUID NOT NULL /*pg: PRIMARY KEY */ /*sqlite: UNIQUE */,
  reference TEXT /*pg: COLLATE "C" */ NOT NULL UNIQUE,
  issuer_id UUID NOT NULL,
  product_name TEXT NOT NULL,
  description TEXT,
  brand TEXT,
  model TEXT,
  gtin TEXT,
  serial_number TEXT,
  category TEXT,
  folded_category TEXT NOT NULL,
  supplier TEXT,
  seller_name TEXT,
  seller_email TEXT,
  seller_id UUID,
  named_by UUID,
  start_date INTEGER NOT NULL,
  end_date INTEGER NOT NULL,
  standing SMALLINT NOT NULL,
  external_id TEXT /*pg: COLLATE "C" */,
  purchase_date INTEGER,
  price TEXT,
  currency TEXT,
  customer_name TEXT,
  customer_email TEXT,
  offered_at BIGINT,
  offer_expires_at BIGINT,
  taken_at BIGINT,
  version BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  deleted_at BIGINT
);
CREATE UNIQUE INDEX warranties_by_external_id ON warranties (issuer_id, external_id)
  WHERE external_id IS NOT NULL AND deleted_at IS NULL;
-- For imports of records without an external id. Each record is in one of the two.
CREATE INDEX warranties_by_serial ON warranties
  (issuer_id, serial_number /*pg: COLLATE "C" */, product_name /*pg: COLLATE "C" */)
  WHERE serial_number IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX warranties_by_content ON warranties (issuer_id, start_date, product_name /*pg: COLLATE "C" */)
  WHERE serial_number IS NULL AND deleted_at IS NULL;
-- For product links: finds each issuer of a product without reading all warranties of one.
CREATE INDEX warranties_of_product ON warranties (gtin, serial_number, issuer_id, id)
  WHERE gtin IS NOT NULL AND deleted_at IS NULL;
-- What waits for a seller is found without reading what the seller has confirmed.
CREATE INDEX warranties_to_confirm ON warranties (seller_email, id)
  WHERE seller_email IS NOT NULL AND seller_id IS NULL AND deleted_at IS NULL;
CREATE INDEX warranties_by_confirmed_seller ON warranties (seller_email, seller_id, id)
  WHERE seller_email IS NOT NULL AND seller_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX warranties_by_seller_email ON warranties (seller_email, id) WHERE seller_email IS NOT NULL;
-- For reminders.
CREATE INDEX warranties_by_end ON warranties (end_date, id) WHERE standing = 1 AND deleted_at IS NULL;
-- Deleted warranties whose content can still be erased.
CREATE INDEX warranties_to_erase ON warranties (issuer_id, id) WHERE deleted_at IS NOT NULL AND product_name <> '';

-- Deleted warranties, for 30 days (ADR 35): the accounts that had access, and their roles. Documents and claims stay
-- meanwhile, without access. The row of an owner alone, for a warranty that is not deleted, means that the owner
-- removed it from their account.
CREATE TABLE trash (
  warranty_id UUID NOT NULL,
  account_id UUID NOT NULL,
  roles SMALLINT NOT NULL,
  deleted_at BIGINT NOT NULL,
  PRIMARY KEY (warranty_id, account_id)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX trash_of_account ON trash (account_id, deleted_at, warranty_id);
CREATE INDEX trash_by_age ON trash (deleted_at, warranty_id);

-- What happened. Rows are never updated or deleted, except by erasing. thread_id is the warranty, token or account
-- whose history this is; subject_id is the changed record. account_id is the account that the actor acted for, and
-- account its name if it is an organization.
CREATE TABLE history (
  thread_id UUID NOT NULL,
  id UUID NOT NULL,
  at BIGINT NOT NULL,
  actor_id UUID NOT NULL,
  actor TEXT NOT NULL,
  account_id UUID NOT NULL,
  account TEXT,
  door SMALLINT NOT NULL,
  token_name TEXT,
  action SMALLINT NOT NULL,
  subject_id UUID NOT NULL,
  changes TEXT NOT NULL,
  PRIMARY KEY (thread_id, id)
) /*sqlite: WITHOUT ROWID */;
-- What operators did, by command (door 5) or on the admin page.
CREATE INDEX history_by_operators ON history (id) WHERE action >= 15 AND action <= 24 OR door = 5;

-- storage_key is the file in the file store. It is never selected together with fields that are shown. business is 1
-- for what a business uploaded, which other businesses may read too, and 0 for what an owner uploaded. message_id is
-- the message that the document was sent with. owner_id is set if later owners do not see the document: it belongs to
-- a claim, or the former owner kept it.
CREATE TABLE documents (
  id UUID NOT NULL PRIMARY KEY,
  warranty_id UUID NOT NULL,
  claim_id UUID,
  message_id UUID,
  owner_id UUID,
  uploader_id UUID NOT NULL,
  business SMALLINT NOT NULL,
  file_name TEXT NOT NULL,
  type SMALLINT NOT NULL,
  content_type TEXT NOT NULL,
  size_bytes BIGINT NOT NULL,
  sha256 BYTEA NOT NULL,
  storage_key TEXT NOT NULL UNIQUE,
  search TEXT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX documents_of_warranty ON documents (warranty_id, id);
CREATE INDEX documents_by_content ON documents (warranty_id, sha256);
CREATE INDEX documents_of_uploader ON documents (uploader_id, size_bytes);

-- Files of forms and messages that were not sent yet (ADR 52). Only the person user_id has access to them, while they
-- act for account_id, and they expire. id is that of the document that the file becomes. warranty_id and claim_id are
-- set if the file is for a message.
CREATE TABLE drafts (
  id UUID NOT NULL PRIMARY KEY,
  account_id UUID NOT NULL,
  user_id UUID NOT NULL,
  warranty_id UUID,
  claim_id UUID,
  file_name TEXT NOT NULL,
  type SMALLINT NOT NULL,
  content_type TEXT NOT NULL,
  size_bytes BIGINT NOT NULL,
  sha256 BYTEA NOT NULL,
  storage_key TEXT NOT NULL UNIQUE,
  created_at BIGINT NOT NULL
);
CREATE INDEX drafts_of_person ON drafts (account_id, user_id, created_at);
CREATE INDEX drafts_by_age ON drafts (created_at);

-- Files that were replaced by another file of their document. Only account_id, which uploaded them, has access to them,
-- and they expire.
CREATE TABLE document_versions (
  id UUID NOT NULL PRIMARY KEY,
  document_id UUID NOT NULL,
  warranty_id UUID NOT NULL,
  account_id UUID NOT NULL,
  file_name TEXT NOT NULL,
  content_type TEXT NOT NULL,
  size_bytes BIGINT NOT NULL,
  sha256 BYTEA NOT NULL,
  storage_key TEXT NOT NULL UNIQUE,
  replaced_at BIGINT NOT NULL
);
CREATE INDEX document_versions_of_account ON document_versions (account_id, replaced_at);
CREATE INDEX document_versions_of_warranty ON document_versions (warranty_id);
CREATE INDEX document_versions_by_age ON document_versions (replaced_at);

-- Every file that is in use.
CREATE VIEW stored_files AS
SELECT storage_key, sha256, size_bytes FROM documents
UNION ALL SELECT storage_key, sha256, size_bytes FROM drafts
UNION ALL SELECT storage_key, sha256, size_bytes FROM document_versions;

-- Small pictures of documents, made when they are first shown (ADR 39). They belong to the file, because a document can
-- get another one. An empty content means that the file has no picture. tries counts the attempts to make it; 0 means
-- that content is the result. An attempt is counted before it begins, so that a file which makes the process die is not
-- decoded again and again. Backups leave this table out.
CREATE TABLE thumbnails (
  storage_key TEXT /*pg: COLLATE "C" */ NOT NULL PRIMARY KEY,
  content BYTEA NOT NULL,
  made_at BIGINT NOT NULL,
  tries SMALLINT NOT NULL DEFAULT 0
);

-- Files that no document uses, and since when by the database's clock. state: 1 document deleted, 2 orphaned, 3 in the
-- trash, 4 upload incomplete. A deleted file counts towards its uploader's storage.
CREATE TABLE unused_files (
  storage_key TEXT /*pg: COLLATE "C" */ NOT NULL PRIMARY KEY,
  state SMALLINT NOT NULL,
  since BIGINT NOT NULL,
  uploader_id UUID,
  size_bytes BIGINT NOT NULL
);
CREATE INDEX unused_files_by_age ON unused_files (state, since);
CREATE INDEX unused_files_of_uploader ON unused_files (uploader_id, size_bytes) WHERE uploader_id IS NOT NULL;

-- Codes that make someone else the owner of a warranty. giver_id is the account that owns it and made_by the person who
-- offers it. transfer is 1 for a transfer to a new owner, 0 for a hand-over by the issuer, who stays the issuer. email is
-- the only address that can use the code; whoever has a code without one can use it. Until signs_in_until the code also
-- signs in to the account of its address. documents has the ids of the owner's documents that go along with a transfer,
-- separated by spaces; the others stay the former owner's, whose id is in documents.owner_id. The first code that is used
-- ends the others; they stay, to tell that the warranty was taken.
CREATE TABLE offer_codes (
  code_hash BYTEA NOT NULL PRIMARY KEY,
  warranty_id UUID NOT NULL,
  giver_id UUID NOT NULL,
  made_by UUID NOT NULL,
  transfer SMALLINT NOT NULL,
  email TEXT,
  signs_in_until BIGINT,
  documents TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  used_at BIGINT
);
CREATE INDEX offer_codes_of_warranty ON offer_codes (warranty_id);
CREATE INDEX offer_codes_by_age ON offer_codes (expires_at);
CREATE INDEX offer_codes_of_giver ON offer_codes (giver_id, made_by, warranty_id)
  WHERE email IS NULL AND used_at IS NULL;
CREATE INDEX offer_codes_that_sign_in ON offer_codes (email) WHERE signs_in_until IS NOT NULL;

-- Whom an issuer emailed an offer: nobody gets two for one warranty. taken_at is set once the person took one, from
-- when on their emails no longer count against the issuer's limit.
CREATE TABLE offer_mails (
  warranty_id UUID NOT NULL,
  email TEXT NOT NULL,
  account_id UUID NOT NULL,
  at BIGINT NOT NULL,
  taken_at BIGINT,
  PRIMARY KEY (warranty_id, email)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX offer_mails_of_account ON offer_mails (account_id, at);
CREATE INDEX offer_mails_taken ON offer_mails (account_id, email) WHERE taken_at IS NOT NULL;

-- Records that an account declined to confirm or left as their seller, and accounts whose records it declined
-- altogether.
CREATE TABLE declined (
  account_id UUID NOT NULL,
  warranty_id UUID NOT NULL,
  PRIMARY KEY (account_id, warranty_id)
) /*sqlite: WITHOUT ROWID */;
CREATE TABLE declined_accounts (
  account_id UUID NOT NULL,
  from_id UUID NOT NULL,
  PRIMARY KEY (account_id, from_id)
) /*sqlite: WITHOUT ROWID */;

-- Templates for the warranties of an organization. folded_name is the name without regard to case; length_months is 0
-- for a lifetime warranty.
CREATE TABLE products (
  id UUID NOT NULL PRIMARY KEY,
  account_id UUID NOT NULL,
  name TEXT NOT NULL,
  folded_name TEXT /*pg: COLLATE "C" */ NOT NULL,
  brand TEXT,
  model TEXT,
  gtin TEXT,
  category TEXT,
  length_months INTEGER NOT NULL,
  terms TEXT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX products_of_account ON products (account_id, folded_name);

-- Public halves of the keys that sign certificates (ADR 33). active is 1 for the one that is in use, and NULL for
-- earlier ones, which still verify what they signed unless they are revoked.
CREATE TABLE signing_keys (
  id TEXT NOT NULL PRIMARY KEY,
  public_key BYTEA NOT NULL,
  active SMALLINT UNIQUE,
  created_at BIGINT NOT NULL,
  retired_at BIGINT,
  revoked_at BIGINT
);

-- Reminders by choice (ADR 38). days are the numbers of days before the end, such as '30,7'; '' means no reminders.
-- Accounts without a row have the default. weekly is 1 for one email a week instead, and weekly_sent the Monday of the
-- last one.
CREATE TABLE reminder_choices (
  account_id UUID NOT NULL PRIMARY KEY,
  days TEXT NOT NULL,
  weekly SMALLINT NOT NULL,
  weekly_sent INTEGER NOT NULL
);
CREATE INDEX reminder_choices_weekly ON reminder_choices (weekly_sent) WHERE weekly = 1;

-- The choice of an account for one warranty.
CREATE TABLE record_reminders (
  warranty_id UUID NOT NULL,
  account_id UUID NOT NULL,
  days TEXT NOT NULL,
  PRIMARY KEY (warranty_id, account_id)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX record_reminders_of_account ON record_reminders (account_id);

-- What an account was reminded of: the smallest number of days so far. mailed_at is NULL until the email is in the
-- outbox. A changed end date gets new reminders.
CREATE TABLE reminded (
  ends INTEGER NOT NULL,
  account_id UUID NOT NULL,
  warranty_id UUID NOT NULL,
  stage SMALLINT NOT NULL,
  mailed_at BIGINT,
  PRIMARY KEY (ends, account_id, warranty_id)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX reminded_open ON reminded (account_id) WHERE mailed_at IS NULL;

-- Reminders of tokens that were sent, so that each is sent once. stage is the number of days before the end.
CREATE TABLE token_reminders (
  token_id UUID NOT NULL,
  stage SMALLINT NOT NULL,
  ends BIGINT NOT NULL,
  sent_at BIGINT NOT NULL,
  PRIMARY KEY (token_id, stage, ends)
) /*sqlite: WITHOUT ROWID */;
