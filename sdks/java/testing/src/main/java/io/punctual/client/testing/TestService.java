package io.punctual.client.testing;

import io.punctual.client.DelayFrom;
import io.punctual.client.Durations;
import io.punctual.client.Punctual;
import io.punctual.client.admin.Admin;
import io.punctual.client.admin.AdvanceClock;
import io.punctual.client.admin.AdvanceClockAnswer;
import io.punctual.client.webhooks.TimerEvent;
import io.punctual.client.webhooks.WebhookHandler;
import io.punctual.client.webhooks.WebhookResponse;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;

/**
 * A real service for a test, with a clock that only the test moves: a reminder in 31 days takes milliseconds. The
 * service keeps its timers in memory, listens on a free port of this machine, and ends with the test.
 *
 * <pre>{@code
 * try (TestService service = TestService.start()) {
 *     TestReceiver receiver = service.receiver();
 *     service.punctual().timers().create(new CreateTimer().delay("31d").callbackUrl(receiver.url()));
 *     service.advance("31d");
 *     assertEquals(1, receiver.events().size());
 * }
 * }</pre>
 *
 * It needs the program {@code punctual}: the variable {@code PUNCTUAL_EXECUTABLE}, or {@code punctual} on the PATH. It
 * downloads nothing.
 */
public final class TestService implements AutoCloseable {
    private static final Duration ADVANCE_WITHIN = Duration.ofMinutes(1);
    private static final int ADVANCES_MOST = 1_000;

    private final ServiceProcess process;
    private final Punctual punctual;
    private final Admin admin;
    private final List<TestReceiver> receivers = new CopyOnWriteArrayList<>();

    private TestService(ServiceProcess process, String namespace) {
        this.process = process;
        this.punctual = Punctual.builder()
                .url(process.url())
                .withoutKey()
                .namespace(namespace)
                .delayFrom(DelayFrom.SERVER)
                .build();
        this.admin = new Admin(punctual);
    }

    /**
     * Starts the program, and returns when the service takes timers.
     *
     * @return a running service
     */
    public static TestService start() {
        return builder().start();
    }

    /**
     * A service with options.
     *
     * @return the options
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Whether this machine has the program, for tests that skip without it.
     *
     * @return true if {@code PUNCTUAL_EXECUTABLE} is set, or if {@code punctual} is on the PATH
     */
    public static boolean isAvailable() {
        return ServiceProcess.findExecutable().isPresent();
    }

    /**
     * The URL of the service.
     *
     * @return a URL of this machine
     */
    public String url() {
        return process.url();
    }

    /**
     * A client of the service. Its delays count by the clock of the service.
     *
     * @return a client
     */
    public Punctual punctual() {
        return punctual;
    }

    /**
     * The calls for operators.
     *
     * @return the calls
     */
    public Admin admin() {
        return admin;
    }

    /**
     * The time of the service.
     *
     * @return its time
     */
    public Instant now() {
        return admin.service().get().now();
    }

    /**
     * Moves the clock. Every timer that becomes due on the way has fired, and its outcome is stored, when this returns.
     *
     * @param by such as {@code 31d}
     * @return how many timers fired on the way
     * @throws IllegalStateException if timers arm each other again and again without a delay
     */
    public long advance(String by) {
        Admin patient = new Admin(punctual.withTimeout(ADVANCE_WITHIN));
        AdvanceClockAnswer answer = patient.advanceClock(new AdvanceClock().by(by));
        Instant end = answer.now();
        long fired = answer.fired();
        // A part of the firings may be left for another call. It goes on to the same instant.
        for (int calls = 1; answer.more() && calls < ADVANCES_MOST; calls++) {
            answer = patient.advanceClock(new AdvanceClock().to(end));
            fired += answer.fired();
        }
        if (answer.more()) {
            throw new IllegalStateException("timers were still due after " + ADVANCES_MOST + " calls: do they arm each"
                    + " other again without a delay?");
        }
        return fired;
    }

    /**
     * Moves the clock. See {@link #advance(String)}.
     *
     * @param by how far
     * @return how many timers fired on the way
     */
    public long advance(Duration by) {
        return advance(Durations.text(by));
    }

    /**
     * An endpoint for timers that records what it gets, and answers 200.
     *
     * @return a receiver, which ends with the service
     */
    public TestReceiver receiver() {
        return receiver(event -> WebhookResponse.text(200, ""));
    }

    /**
     * An endpoint for timers that records what it gets, and answers what the test says.
     *
     * @param reply the answer to each timer
     * @return a receiver, which ends with the service
     */
    public TestReceiver receiver(Function<TimerEvent, WebhookResponse> reply) {
        return kept(new TestReceiver((request, event) -> reply.apply(event)));
    }

    /**
     * An endpoint for timers that records what it gets, and passes it to your handler.
     *
     * @param handler your handler
     * @return a receiver, which ends with the service
     */
    public TestReceiver receiver(WebhookHandler handler) {
        return kept(new TestReceiver((request, event) -> handler.handle(request)));
    }

    private TestReceiver kept(TestReceiver receiver) {
        receivers.add(receiver);
        return receiver;
    }

    /** Ends the service and its receivers. */
    @Override
    public void close() {
        receivers.forEach(TestReceiver::close);
        process.close();
    }

    /** The options of a test service. */
    public static final class Builder {
        private String executable;
        private String clock = "manual";
        private String namespace = "test";
        private final Map<String, String> settings = new LinkedHashMap<>();

        private Builder() {}

        /**
         * The program to start. When left out: the variable {@code PUNCTUAL_EXECUTABLE}, or {@code punctual} on the
         * PATH.
         *
         * @param executable its path
         * @return this builder
         */
        public Builder executable(String executable) {
            this.executable = executable;
            return this;
        }

        /**
         * Where the clock begins; now when left out.
         *
         * @param startAt an instant
         * @return this builder
         */
        public Builder startAt(Instant startAt) {
            clock = "manual:" + startAt;
            return this;
        }

        /**
         * The namespace of {@link TestService#punctual()}; {@code test} when left out.
         *
         * @param namespace its name
         * @return this builder
         */
        public Builder namespace(String namespace) {
            this.namespace = namespace;
            return this;
        }

        /**
         * One more setting of the service.
         *
         * @param name such as {@code TIMER_EGRESS}
         * @param value its value
         * @return this builder
         */
        public Builder setting(String name, String value) {
            settings.put(name, value);
            return this;
        }

        /**
         * Starts the program, and returns when the service takes timers.
         *
         * @return a running service
         * @throws IllegalStateException if the program is not there, or does not start
         */
        public TestService start() {
            Map<String, String> all = new LinkedHashMap<>();
            all.put("TIMER_STORE_URL", "memory:");
            all.put("TIMER_HTTP_PORT", "0");
            all.put("TIMER_LOG", "warn");
            // With a key the service can keep the webhook secrets of the test.
            all.put("TIMER_SECRET_KEY", "0123456789abcdef".repeat(4));
            all.put("TIMER_CLOCK", clock);
            all.putAll(settings);
            return new TestService(ServiceProcess.start(executable, all), namespace);
        }
    }
}
