package io.punctual.client.admin;

import io.punctual.client.ScopedRequest;

/** The timers of a job. Without other fields: all timers of the namespaces. */
public final class BulkFilterInput extends ScopedRequest<BulkFilterInput> {
    /** A request without fields. */
    public BulkFilterInput() {
        super(BulkFilterInput.class);
    }
}
