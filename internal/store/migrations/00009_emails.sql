-- Emails with content, claims that a person is not emailed about, and stored documents in claims.

-- html is the same as body, without the page around it; 1.0.0 writes none. sender is the name of the organization that the
-- email is from, and reply_to the address for answers; both may be empty. claim_id is the claim that the recipient can
-- mute. author_id is the person whose text about a claim the email has, and the zero id stands for several.
ALTER TABLE mails ADD COLUMN html TEXT NOT NULL DEFAULT '';
ALTER TABLE mails ADD COLUMN language TEXT NOT NULL DEFAULT '';
ALTER TABLE mails ADD COLUMN sender TEXT NOT NULL DEFAULT '';
ALTER TABLE mails ADD COLUMN reply_to TEXT NOT NULL DEFAULT '';
ALTER TABLE mails ADD COLUMN claim_id UUID;
ALTER TABLE mails ADD COLUMN author_id UUID;

-- since is the first change of the claim that the digest reports; 1.0.0 does not write it.
ALTER TABLE mail_digest ADD COLUMN since BIGINT NOT NULL DEFAULT 0;

-- Claims that a recipient of emails (see the view recipients) does not want any about.
CREATE TABLE claim_mutes (
  claim_id UUID NOT NULL,
  account_id UUID NOT NULL,
  user_id UUID NOT NULL,
  PRIMARY KEY (claim_id, account_id, user_id)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX claim_mutes_of_recipient ON claim_mutes (account_id, user_id);
CREATE INDEX claim_mutes_of_user ON claim_mutes (user_id);

-- Documents of a warranty that its owner sent with a claim. message_id is the message that they were sent with, or NULL if
-- they were sent with the claim itself.
CREATE TABLE claim_documents (
  claim_id UUID NOT NULL,
  document_id UUID NOT NULL,
  message_id UUID,
  PRIMARY KEY (claim_id, document_id)
) /*sqlite: WITHOUT ROWID */;
CREATE INDEX claim_documents_of_document ON claim_documents (document_id);

-- filed is 1 for files that were sent with the form of a claim. 1.0.0 took those of its first ten minutes for them.
ALTER TABLE documents ADD COLUMN filed SMALLINT NOT NULL DEFAULT 0;
UPDATE documents SET filed = 1 WHERE claim_id IS NOT NULL AND message_id IS NULL
  AND created_at < (SELECT c.created_at FROM claims c WHERE c.id = documents.claim_id) + 600000000;
