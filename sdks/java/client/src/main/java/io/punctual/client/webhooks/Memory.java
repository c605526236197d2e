package io.punctual.client.webhooks;

import java.util.Optional;

/**
 * Remembers which fireIds are done, so that repeats do nothing. Keep it where the work is, best in the same
 * transaction.
 */
public interface Memory {
    /**
     * Whether a fireId is done.
     *
     * @param fireId the id of the firing
     * @return what {@link #markDone} got, or an empty text if you did not keep it; empty if it is not done
     * @throws Exception if the memory does not answer. Then the attempt fails
     */
    Optional<String> done(String fireId) throws Exception;

    /**
     * Marks a fireId after success. Keep the answer if your function arms timers again: a repeat must answer the same.
     *
     * @param fireId the id of the firing
     * @param answer what the handler answers
     * @throws Exception if the memory does not answer. Then the attempt fails
     */
    void markDone(String fireId, String answer) throws Exception;
}
