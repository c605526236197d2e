-- The trace of the call that created a timer, as its header traceparent had it; NULL if there was none.
ALTER TABLE timers ADD COLUMN traceparent text;
ALTER TABLE history ADD COLUMN traceparent text;
