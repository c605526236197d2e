package io.punctual.client.admin;

import io.punctual.client.Request;
import java.time.Instant;

/** Which audit records to list. */
public final class ListAudit extends Request<ListAudit> {
    /** A request without fields. */
    public ListAudit() {
        super(ListAudit.class);
    }

    /**
     * From this instant on.
     *
     * @param since an instant
     * @return this request
     */
    public ListAudit since(Instant since) {
        return put("since", since);
    }

    /**
     * From this instant on.
     *
     * @param since ISO 8601 with an offset, such as {@code 2030-01-15T09:00:00+01:00}
     * @return this request
     */
    public ListAudit since(String since) {
        return put("since", since);
    }

    /**
     * Before this instant.
     *
     * @param until an instant
     * @return this request
     */
    public ListAudit until(Instant until) {
        return put("until", until);
    }

    /**
     * Before this instant.
     *
     * @param until ISO 8601 with an offset, such as {@code 2030-01-15T09:00:00+01:00}
     * @return this request
     */
    public ListAudit until(String until) {
        return put("until", until);
    }

    /**
     * One action, such as {@code keys.create}.
     *
     * @param action a text
     * @return this request
     */
    public ListAudit action(String action) {
        return put("action", action);
    }

    /**
     * What the key with this id did.
     *
     * @param key a text
     * @return this request
     */
    public ListAudit key(String key) {
        return put("key", key);
    }
}
