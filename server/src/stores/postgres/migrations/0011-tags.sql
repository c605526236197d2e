-- The caller's own words to find a timer by, as a JSON array of texts; NULL if there are none. This comes after the table of
-- words was filled: it locks both tables until all migrations are committed, and nodes of the release before wait for it.
ALTER TABLE timers ADD COLUMN tags text;
ALTER TABLE history ADD COLUMN tags text;
