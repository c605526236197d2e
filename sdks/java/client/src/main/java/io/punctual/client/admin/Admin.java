package io.punctual.client.admin;

import io.punctual.client.Paged;
import io.punctual.client.Punctual;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * The calls for operators, through a client:
 *
 * <pre>{@code
 * Admin admin = new Admin(punctual);
 * admin.namespaces().put(new PutNamespace().paused(true));
 * }</pre>
 */
public final class Admin {
    private final Punctual punctual;

    /**
     * The calls for operators.
     *
     * @param punctual the client that sends them
     */
    public Admin(Punctual punctual) {
        this.punctual = punctual;
    }

    /**
     * Jobs on many timers.
     *
     * @return the calls
     */
    public Bulk bulk() {
        return new Bulk(punctual);
    }

    /**
     * Settings of namespaces.
     *
     * @return the calls
     */
    public Namespaces namespaces() {
        return new Namespaces(punctual);
    }

    /**
     * The service as a whole.
     *
     * @return the calls
     */
    public Service service() {
        return new Service(punctual);
    }

    /**
     * Hosts that failed too often in a row.
     *
     * @return the calls
     */
    public Breakers breakers() {
        return new Breakers(punctual);
    }

    /**
     * Who may call the service.
     *
     * @return the calls
     */
    public Keys keys() {
        return new Keys(punctual);
    }

    /**
     * Cookies in place of keys.
     *
     * @return the calls
     */
    public Sessions sessions() {
        return new Sessions(punctual);
    }

    /**
     * Messages that could not be handled.
     *
     * @return the calls
     */
    public Messages messages() {
        return new Messages(punctual);
    }

    /**
     * What operators did, latest first.
     *
     * @param request which records
     * @return the list
     */
    public Paged<AuditRecord> audit(ListAudit request) {
        return punctual.list("audit.list", request.fields(), "records", AuditRecord.class);
    }

    /**
     * Whether the service may call a URL, and why.
     *
     * @param url the URL
     * @return whether it may
     */
    public CheckEgressAnswer checkEgress(String url) {
        return punctual.exchange("egress.check", Map.of("url", url), CheckEgressAnswer.class);
    }

    /**
     * {@link #checkEgress(String)} without blocking.
     *
     * @param url the URL
     * @return whether it may
     */
    public CompletableFuture<CheckEgressAnswer> checkEgressAsync(String url) {
        return punctual.exchangeAsync("egress.check", Map.of("url", url), CheckEgressAnswer.class);
    }

    /**
     * Moves a manual clock. All timers that become due on the way fire before this returns.
     *
     * @param request how far
     * @return the new time
     */
    public AdvanceClockAnswer advanceClock(AdvanceClock request) {
        return punctual.exchange("clock.advance", request.fields(), AdvanceClockAnswer.class);
    }

    /**
     * {@link #advanceClock(AdvanceClock)} without blocking.
     *
     * @param request how far
     * @return the new time
     */
    public CompletableFuture<AdvanceClockAnswer> advanceClockAsync(AdvanceClock request) {
        return punctual.exchangeAsync("clock.advance", request.fields(), AdvanceClockAnswer.class);
    }

    /**
     * The nodes and their shards.
     *
     * @return the cluster
     */
    public ClusterAnswer cluster() {
        return punctual.exchange("cluster.cluster", Map.of(), ClusterAnswer.class);
    }

    /**
     * {@link #cluster()} without blocking.
     *
     * @return the cluster
     */
    public CompletableFuture<ClusterAnswer> clusterAsync() {
        return punctual.exchangeAsync("cluster.cluster", Map.of(), ClusterAnswer.class);
    }

    static Map<String, Object> inNamespace(Punctual punctual, Map<String, ?> request) {
        Map<String, Object> fields = new LinkedHashMap<>(request);
        punctual.namespace().ifPresent(namespace -> fields.putIfAbsent("namespace", namespace));
        return fields;
    }
}
