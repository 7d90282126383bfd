-- What the service does beside its records: emails, jobs, repeated requests, files, backups.

-- Emails are inserted in the transaction that causes them and sent by a worker. claimed_until prevents two workers from
-- sending the same one; a failed email has it in the year 9999. failed_attempts equals attempts unless an attempt is in
-- progress. expires_at is when the code in the email expires. unsubscribe tells who can unsubscribe with the email:
-- kind, account and person; NULL for emails that are always sent. Urgent ones, with a code that someone waits for, have
-- their own queue.
CREATE TABLE mails (
  id UUID NOT NULL PRIMARY KEY,
  address TEXT NOT NULL,
  subject TEXT NOT NULL,
  body TEXT NOT NULL,
  code TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  claimed_until BIGINT NOT NULL,
  failed_attempts INTEGER NOT NULL DEFAULT 0,
  last_error TEXT NOT NULL DEFAULT '',
  failed_at BIGINT,
  expires_at BIGINT,
  unsubscribe BYTEA,
  urgent SMALLINT NOT NULL DEFAULT 0
);
CREATE INDEX mails_by_claim ON mails (claimed_until, id);
CREATE INDEX mails_urgent ON mails (claimed_until, id) WHERE urgent = 1;

-- Emails that one account caused to others in the last day. topic is the claim or warranty that the email is about; a
-- digest has a row for each. person_id is who caused it, over all of their organizations. chosen is 1 if the person
-- chose the address, as for an offer or an invitation. mailbox is the address without what its owner adds to it
-- (warranty.Mailbox).
CREATE TABLE mail_log (
  sender_id UUID NOT NULL,
  at BIGINT NOT NULL,
  mail_id UUID NOT NULL,
  topic UUID NOT NULL,
  recipient TEXT NOT NULL,
  mailbox TEXT NOT NULL,
  person_id UUID,
  chosen SMALLINT NOT NULL,
  PRIMARY KEY (sender_id, at, mail_id, topic)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX mail_log_of_recipient ON mail_log (recipient, topic, at);
CREATE INDEX mail_log_of_mailbox ON mail_log (mailbox, at);
CREATE INDEX mail_log_of_person ON mail_log (person_id, at);
CREATE INDEX mail_log_by_age ON mail_log (at);

-- Changes of claims that a user was not emailed about yet. One digest reports all of them.
CREATE TABLE mail_digest (
  user_id UUID NOT NULL,
  claim_id UUID NOT NULL,
  sender_id UUID NOT NULL,
  person_id UUID,
  changes INTEGER NOT NULL,
  due_at BIGINT NOT NULL,
  PRIMARY KEY (user_id, claim_id, sender_id)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX mail_digest_by_due ON mail_digest (due_at);

-- What else an account is emailed about, gathered until it is due (ADR 48). kind: 1 a business changed the promise of a
-- warranty that the account owns, 2 a warranty names it as the seller, 3 a seller confirmed or declined. event_id is the
-- first event in the history; sender_id and person_id caused it.
CREATE TABLE mail_notices (
  kind SMALLINT NOT NULL,
  account_id UUID NOT NULL,
  warranty_id UUID NOT NULL,
  sender_id UUID NOT NULL,
  person_id UUID NOT NULL,
  event_id UUID NOT NULL,
  due_at BIGINT NOT NULL,
  PRIMARY KEY (kind, account_id, warranty_id, sender_id)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX mail_notices_by_due ON mail_notices (due_at);

-- The key of the addresses that unsubscribe. It is not in backups.
CREATE TABLE unsubscribe_keys (
  id SMALLINT NOT NULL PRIMARY KEY,
  value BYTEA NOT NULL
);

-- Answers to requests with an idempotency key.
CREATE TABLE idempotency (
  user_id UUID NOT NULL,
  operation TEXT NOT NULL,
  key TEXT /*pg: COLLATE "C" */ NOT NULL,
  fingerprint BYTEA NOT NULL,
  response TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (user_id, operation, key)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX idempotency_by_age ON idempotency (created_at);

-- Work that goes on without the request that started it, with the session that started it. A worker has a lease on an
-- open job (state 1 or 4). ended_at is when a job was done or failed; undoing it keeps the time. job_records has what
-- its rows created: a row creates one record.
CREATE TABLE jobs (
  id UUID NOT NULL PRIMARY KEY,
  account_id UUID NOT NULL,
  user_id UUID NOT NULL,
  session_id UUID NOT NULL,
  kind TEXT NOT NULL,
  state SMALLINT NOT NULL,
  input TEXT NOT NULL,
  result TEXT NOT NULL,
  done BIGINT NOT NULL,
  total BIGINT NOT NULL,
  error TEXT NOT NULL,
  attempts BIGINT NOT NULL,
  leased_until BIGINT NOT NULL,
  leased_by UUID,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  ended_at BIGINT
);
CREATE INDEX jobs_open ON jobs (leased_until) WHERE state IN (1, 4);
CREATE INDEX jobs_of_account ON jobs (account_id);
CREATE TABLE job_records (
  job_id UUID NOT NULL,
  row_number BIGINT NOT NULL,
  warranty_id UUID NOT NULL,
  PRIMARY KEY (job_id, row_number)
) /*sqlite: WITHOUT ROWID */;

-- Events that happen once per database.
CREATE TABLE milestones (
  name TEXT NOT NULL PRIMARY KEY,
  reached_at BIGINT NOT NULL
);

-- The id of the database, in its only row, and the folder that holds the files of its documents. Both ids are also
-- stored in the folder, so that no other database uses it and a replica notices a wrong folder.
CREATE TABLE installation (
  one SMALLINT NOT NULL PRIMARY KEY,
  id UUID NOT NULL,
  folder_id UUID,
  files_swept_at BIGINT NOT NULL
);
INSERT INTO installation (one, id, files_swept_at)
  VALUES (1, /*pg: gen_random_uuid() */ /*sqlite: randomblob(16) */, 0);

-- The last good backup of this database and the last one that failed, in at most one row. duration is in microseconds.
-- lost_files are files of documents that the source no longer had.
CREATE TABLE backup_status (
  one SMALLINT NOT NULL PRIMARY KEY,
  succeeded_at BIGINT,
  duration BIGINT NOT NULL DEFAULT 0,
  size_bytes BIGINT NOT NULL DEFAULT 0,
  lost_files BIGINT NOT NULL DEFAULT 0,
  place TEXT NOT NULL DEFAULT '',
  failures BIGINT NOT NULL DEFAULT 0,
  failed_at BIGINT,
  error TEXT NOT NULL DEFAULT ''
);

-- Recent server errors of all replicas: failed requests, and failed tasks of the worker.
CREATE TABLE server_errors (
  at BIGINT NOT NULL,
  id UUID NOT NULL,
  replica TEXT NOT NULL,
  request_id TEXT /*pg: COLLATE "C" */ NOT NULL,
  source TEXT NOT NULL,
  status SMALLINT NOT NULL,
  user_id UUID,
  message TEXT NOT NULL,
  PRIMARY KEY (at, id)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX server_errors_by_request ON server_errors (request_id);

-- What svcd --acme shares between replicas: account keys, certificates with their keys, the challenge that is being
-- answered, and who orders. until is when a value expires, or when the next order may start.
CREATE TABLE acme (
  name TEXT /*pg: COLLATE "C" */ NOT NULL PRIMARY KEY,
  value TEXT NOT NULL,
  until BIGINT NOT NULL
);
