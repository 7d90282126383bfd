-- Wrong six digits that were entered on a day for what an account, or a person of it, offered (ADR 51). day counts from
-- 1970-01-01 in UTC.
CREATE TABLE wrong_digits (
  account_id UUID NOT NULL,
  day INTEGER NOT NULL,
  tries INTEGER NOT NULL,
  PRIMARY KEY (account_id, day)
) /*sqlite: WITHOUT ROWID */;
