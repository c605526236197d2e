package io.punctual.client.webhooks;

import io.punctual.client.Json;
import java.io.IOException;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * Receives webhooks. It owns the raw body: it reads it within a limit, checks the signature over its bytes, calls your
 * function, and turns the outcome into the answer that Punctual understands.
 *
 * <pre>{@code
 * WebhookHandler handler = WebhookHandler.builder()
 *         .secrets(System.getenv("WEBHOOK_SECRET"))
 *         .handle(event -> {
 *             remind(event.timerId());
 *             return Outcome.delivered();
 *         })
 *         .build();
 * }</pre>
 *
 * {@link HttpServerHandler} puts it behind the HTTP server of the JDK.
 */
public final class WebhookHandler {
    private static final System.Logger.Level WARNING = System.Logger.Level.WARNING;

    private final Builder options;

    private WebhookHandler(Builder options) {
        this.options = options;
    }

    /**
     * Options of a handler.
     *
     * @return the options
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Answers one request. It blocks until your function is done, and throws no exception. An {@link Error} of your
     * function passes through: the container of the endpoint must see it.
     *
     * @param request a request whose body is unread
     * @return the answer
     */
    public WebhookResponse handle(WebhookRequest request) {
        byte[] body;
        try {
            long length = request.header("content-length")
                    .filter(text -> text.matches("[0-9]{1,18}"))
                    .map(Long::parseLong)
                    .orElse(0L);
            if (length > options.maxBodyBytes) return tooLarge();
            body = request.body().readNBytes(options.maxBodyBytes + 1);
        } catch (IOException broken) {
            return WebhookResponse.text(400, "the body did not arrive");
        }
        if (body.length > options.maxBodyBytes) return tooLarge();
        if (!options.isUnsigned) {
            Finding finding =
                    Signatures.verify(request, body, options.secrets, options.tolerance, options.clock.instant());
            if (finding != Finding.OK) return WebhookResponse.text(401, "the signature is " + finding);
        }
        TimerEvent event;
        try {
            event = TimerEvent.of(request, body, Instant.now().plus(options.timeout));
        } catch (IllegalArgumentException unreadable) {
            return WebhookResponse.text(
                    400, "the request is no timer of Punctual: its body is not JSON, or a header is missing");
        }
        return functionFor(event.tags())
                .map(function ->
                        run(function, event, request.header("webhook-id").orElse("")))
                .orElseGet(() -> WebhookResponse.text(404, "no function handles the tags of this timer"));
    }

    private static WebhookResponse tooLarge() {
        return WebhookResponse.text(413, "the body is too large");
    }

    private Optional<TimerFunction> functionFor(List<String> tags) {
        if (options.function != null) return Optional.of(options.function);
        return tags.stream()
                .filter(options.functions::containsKey)
                .findFirst()
                .map(options.functions::get)
                .or(() -> Optional.ofNullable(options.fallback));
    }

    /**
     * Calls the function, unless its work is done already. A call of onDead has the fireId of the timer that died in
     * its body, and its own one in the header.
     */
    private WebhookResponse run(TimerFunction function, TimerEvent event, String fireId) {
        try {
            if (options.memory != null) {
                Optional<String> done = options.memory.done(fireId);
                if (done.isPresent()) {
                    return done.get().isEmpty()
                            ? WebhookResponse.text(200, "")
                            : WebhookResponse.json(200, Json.parse(done.get()));
                }
            }
            Outcome outcome = Objects.requireNonNull(function.handle(event), "return Outcome.delivered(), not null");
            WebhookResponse answer = answerOf(outcome);
            boolean isDone = outcome instanceof Outcome.Delivered || outcome instanceof Outcome.Again;
            if (options.memory != null && isDone) options.memory.markDone(fireId, answer.body());
            return answer;
        } catch (Exception failure) {
            if (failure instanceof InterruptedException) Thread.currentThread().interrupt();
            String message = "punctual: the handler of " + event.namespace() + "/" + event.timerId() + " failed";
            options.logger.log(WARNING, message, failure);
            return WebhookResponse.text(500, "the handler failed");
        }
    }

    private static WebhookResponse answerOf(Outcome outcome) {
        Map<String, Object> answer = new LinkedHashMap<>();
        if (outcome instanceof Outcome.Dead dead) {
            answer.put("reason", dead.reason());
            Map<String, String> headers = Map.of("content-type", "application/json", "punctual-retry", "never");
            return new WebhookResponse(422, headers, Json.of(answer).text());
        }
        answer.put("ok", !(outcome instanceof Outcome.Retry));
        if (outcome instanceof Outcome.Retry retry) retry.after().ifPresent(after -> answer.put("nextDelay", after));
        if (outcome instanceof Outcome.Again again) {
            again.nextDelay().ifPresent(delay -> answer.put("nextDelay", delay));
            again.nextExecuteAt().ifPresent(at -> answer.put("nextExecuteAt", at));
            again.payload().ifPresent(payload -> answer.put("payload", payload));
        }
        return WebhookResponse.json(200, answer);
    }

    /** The options of a handler. */
    public static final class Builder {
        private List<String> secrets = List.of();
        private boolean isUnsigned;
        private TimerFunction function;
        private final Map<String, TimerFunction> functions = new LinkedHashMap<>();
        private TimerFunction fallback;
        private Memory memory;
        private Duration tolerance = Signatures.USUAL_TOLERANCE;
        private Duration timeout = Duration.ofSeconds(15);
        private int maxBodyBytes = 1024 * 1024;
        private System.Logger logger;
        private Clock clock = Clock.systemUTC();

        private Builder() {}

        private Builder(Builder other) {
            secrets = other.secrets;
            isUnsigned = other.isUnsigned;
            function = other.function;
            functions.putAll(other.functions);
            fallback = other.fallback;
            memory = other.memory;
            tolerance = other.tolerance;
            timeout = other.timeout;
            maxBodyBytes = other.maxBodyBytes;
            logger = other.logger == null ? System.getLogger("io.punctual.client.webhooks") : other.logger;
            clock = other.clock;
        }

        /**
         * The secrets of the namespace. During a change give both.
         *
         * @param secrets texts such as {@code whsec_…}
         * @return this builder
         * @throws IllegalArgumentException if one of them is null, such as a variable of the environment that is not set
         */
        public Builder secrets(String... secrets) {
            if (Arrays.asList(secrets).contains(null)) {
                throw new IllegalArgumentException("a webhook secret is null: is its variable set?");
            }
            this.secrets = List.of(secrets);
            return this;
        }

        /**
         * Accepts every request, and logs a warning. Only for tests and networks that nobody else can reach.
         *
         * @return this builder
         */
        public Builder withoutSecrets() {
            isUnsigned = true;
            return this;
        }

        /**
         * The function for all timers.
         *
         * @param function your function
         * @return this builder
         */
        public Builder handle(TimerFunction function) {
            this.function = function;
            return this;
        }

        /**
         * The function for timers with a tag. The first tag of the timer that has a function counts.
         *
         * @param tag the tag
         * @param tagged your function
         * @return this builder
         * @throws IllegalArgumentException if the tag has a function already
         */
        public Builder on(String tag, TimerFunction tagged) {
            Objects.requireNonNull(tag, "tag");
            Objects.requireNonNull(tagged, "tagged");
            if (functions.putIfAbsent(tag, tagged) != null) {
                throw new IllegalArgumentException("the tag " + tag + " has a function already");
            }
            return this;
        }

        /**
         * The function for timers without such a tag. Without it they are answered 404, and Punctual retries.
         *
         * @param function your function
         * @return this builder
         */
        public Builder fallback(TimerFunction function) {
            fallback = function;
            return this;
        }

        /**
         * Drops repeats of what is done.
         *
         * @param memory remembers what is done
         * @return this builder
         */
        public Builder memory(Memory memory) {
            this.memory = memory;
            return this;
        }

        /**
         * The largest difference between the clocks; five minutes when left out.
         *
         * @param tolerance the difference
         * @return this builder
         */
        public Builder tolerance(Duration tolerance) {
            this.tolerance = Objects.requireNonNull(tolerance, "tolerance");
            return this;
        }

        /**
         * The time-out of the target, which is 15 s by default. It sets the deadline of your function.
         *
         * @param timeout the time-out
         * @return this builder
         */
        public Builder timeout(Duration timeout) {
            this.timeout = Objects.requireNonNull(timeout, "timeout");
            return this;
        }

        /**
         * Larger bodies are answered 413; 1 MiB when left out.
         *
         * @param maxBodyBytes how many bytes a body may have
         * @return this builder
         */
        public Builder maxBodyBytes(int maxBodyBytes) {
            if (maxBodyBytes < 0 || maxBodyBytes == Integer.MAX_VALUE) {
                throw new IllegalArgumentException("maxBodyBytes must be from 0 to 2147483646");
            }
            this.maxBodyBytes = maxBodyBytes;
            return this;
        }

        /**
         * Where failures of your function are written. The logger {@code io.punctual.client.webhooks} when left out.
         *
         * @param logger the logger
         * @return this builder
         */
        public Builder logger(System.Logger logger) {
            this.logger = logger;
            return this;
        }

        /**
         * The clock that signatures are compared with, for tests.
         *
         * @param clock the clock
         * @return this builder
         */
        public Builder clock(Clock clock) {
            this.clock = Objects.requireNonNull(clock, "clock");
            return this;
        }

        /**
         * Makes the handler.
         *
         * @return a handler, for use by many threads
         * @throws IllegalArgumentException if an option is wrong or missing
         */
        public WebhookHandler build() {
            if ((function == null) == functions.isEmpty())
                throw new IllegalArgumentException("give exactly one of handle and on");
            if (function != null && fallback != null)
                throw new IllegalArgumentException("fallback is for on: remove it");
            if (isUnsigned != secrets.isEmpty()) {
                throw new IllegalArgumentException("give at least one secret, or withoutSecrets(), and not both");
            }
            secrets.forEach(Signatures::secretBytes);
            WebhookHandler handler = new WebhookHandler(new Builder(this));
            if (isUnsigned) handler.options.logger.log(WARNING, "punctual: webhooks are accepted without a signature");
            return handler;
        }
    }
}
