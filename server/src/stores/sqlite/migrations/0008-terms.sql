-- The trace of the call that created a timer, as its header traceparent had it; NULL if there was none.
ALTER TABLE timers ADD COLUMN traceparent TEXT;
ALTER TABLE history ADD COLUMN traceparent TEXT;
ALTER TABLE dead ADD COLUMN traceparent TEXT;

-- Why a life was cancelled, if no call cancelled it; NULL of all others.
ALTER TABLE history ADD COLUMN reason TEXT;
