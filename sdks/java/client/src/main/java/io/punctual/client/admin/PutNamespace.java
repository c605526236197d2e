package io.punctual.client.admin;

import io.punctual.client.Request;
import io.punctual.client.RetryPolicyInput;
import io.punctual.client.TargetInput;
import java.util.List;

/**
 * Settings of a namespace to change. A field that is not set stays as it is; {@code null} sets it back to its default.
 */
public final class PutNamespace extends Request<PutNamespace> {
    /** Settings of the client's namespace. */
    public PutNamespace() {
        super(PutNamespace.class);
    }

    /**
     * Settings of another namespace.
     *
     * @param namespace its name
     */
    public PutNamespace(String namespace) {
        super(PutNamespace.class);
        set("namespace", namespace);
    }

    /**
     * The secrets that sign webhooks, at most two. During a change give both.
     *
     * @param secrets texts such as {@code whsec_…}, or a {@link SecretFingerprint} for one that stays
     * @return this request
     */
    public PutNamespace webhookSecrets(Object... secrets) {
        return set("webhookSecrets", List.of(secrets));
    }

    /**
     * Removes the secrets.
     *
     * @return this request
     */
    public PutNamespace withoutWebhookSecrets() {
        return set("webhookSecrets", null);
    }

    /**
     * When to try again after a failed attempt.
     *
     * @param retryPolicy the value; {@code null} clears it
     * @return this request
     */
    public PutNamespace retryPolicy(RetryPolicyInput retryPolicy) {
        return set("retryPolicy", retryPolicy);
    }

    /**
     * Who is called when a timer is dead.
     *
     * @param onDead the value; {@code null} clears it
     * @return this request
     */
    public PutNamespace onDead(TargetInput onDead) {
        return set("onDead", onDead);
    }

    /**
     * How many timers are delivered at the same time.
     *
     * @param maxInFlight a whole number; {@code null} clears it
     * @return this request
     */
    public PutNamespace maxInFlight(Integer maxInFlight) {
        return set("maxInFlight", maxInFlight);
    }

    /**
     * How many timers may be pending.
     *
     * @param maxPending a whole number; {@code null} clears it
     * @return this request
     */
    public PutNamespace maxPending(Long maxPending) {
        return set("maxPending", maxPending);
    }

    /**
     * How many timers may be created in a second.
     *
     * @param createsPerSecond a whole number; {@code null} clears it
     * @return this request
     */
    public PutNamespace createsPerSecond(Integer createsPerSecond) {
        return set("createsPerSecond", createsPerSecond);
    }

    /**
     * Whether firing stops.
     *
     * @param paused true or false; {@code null} clears it
     * @return this request
     */
    public PutNamespace paused(Boolean paused) {
        return set("paused", paused);
    }

    /**
     * Why firing stops. It needs {@code paused(true)}.
     *
     * @param pauseReason a text
     * @return this request
     */
    public PutNamespace pauseReason(String pauseReason) {
        return put("pauseReason", pauseReason);
    }
}
