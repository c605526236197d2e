-- Whether a member signs its calls to other nodes. Releases that do not sign leave the default.
ALTER TABLE members ADD COLUMN is_signing boolean NOT NULL DEFAULT false;
