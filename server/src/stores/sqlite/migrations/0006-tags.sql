-- The caller's own words to find a timer by, as a JSON array of texts; NULL if there are none.
ALTER TABLE timers ADD COLUMN tags TEXT;
ALTER TABLE history ADD COLUMN tags TEXT;
ALTER TABLE dead ADD COLUMN tags TEXT;
