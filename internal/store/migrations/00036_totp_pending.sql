-- The secret of an authenticator app that a person is adding, or changing, sealed like that of totp. It is not a factor:
-- with the first right code it moves to totp.
CREATE TABLE totp_pending (
  user_id UUID NOT NULL PRIMARY KEY,
  sealed_secret BYTEA NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX totp_pending_by_age ON totp_pending (created_at);
