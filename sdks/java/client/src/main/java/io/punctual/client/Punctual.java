package io.punctual.client;

import java.net.URI;
import java.net.URISyntaxException;
import java.net.http.HttpClient;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A client of one service. Make one and share it: it is safe for use by many threads.
 *
 * <pre>{@code
 * Punctual punctual = Punctual.builder().url("https://timers.example.com").namespace("billing").build();
 * punctual.timers().create(
 *         new CreateTimer().timerId("trial-42").delay("14d").callbackUrl("https://shop.example/hooks"));
 * }</pre>
 *
 * An interrupt of the calling thread ends a call that blocks. A cancel of the future ends the others.
 */
public final class Punctual {
    private final Connection connection;
    private final CallSettings settings;
    private final Timers timers;

    Punctual(Connection connection, CallSettings settings) {
        this.connection = connection;
        this.settings = settings;
        this.timers = new Timers(this, new CompleteRequest(settings, connection));
    }

    /**
     * A client with the URL in {@code TIMER_URL} and the key in {@code TIMER_API_KEY}.
     *
     * @return a client
     */
    public static Punctual create() {
        return builder().build();
    }

    /**
     * A client with options.
     *
     * @return the options
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * A new id for a timer: a UUID of version 7, which sorts by its time.
     *
     * @return an id
     */
    public static String newTimerId() {
        return TimerIds.newTimerId(System.currentTimeMillis());
    }

    /**
     * The calls about timers.
     *
     * @return the calls
     */
    public Timers timers() {
        return timers;
    }

    /**
     * The namespace of requests that name none.
     *
     * @return empty if there is none
     */
    public Optional<String> namespace() {
        return Optional.ofNullable(settings.namespace());
    }

    /**
     * The same client for another namespace.
     *
     * @param namespace its name
     * @return a client that shares the connection
     */
    public Punctual inNamespace(String namespace) {
        return new Punctual(connection, settings.withNamespace(namespace));
    }

    /**
     * The same client with another time limit of each try.
     *
     * @param timeout from 1 ms to 1 day
     * @return a client that shares the connection
     */
    public Punctual withTimeout(Duration timeout) {
        return new Punctual(connection, settings.withTimeout(timeout));
    }

    /**
     * The same client with an end for its calls, with all their tries and waits.
     *
     * @param deadline the end
     * @return a client that shares the connection
     */
    public Punctual withDeadline(Instant deadline) {
        return new Punctual(connection, settings.withDeadline(deadline));
    }

    /**
     * The same client with another number of repeats.
     *
     * @param maxRetries how often it repeats a call that is harmless to repeat
     * @return a client that shares the connection
     */
    public Punctual withMaxRetries(int maxRetries) {
        return new Punctual(connection, settings.withMaxRetries(maxRetries));
    }

    /**
     * The same client with another beginning of delays.
     *
     * @param delayFrom where delays begin
     * @return a client that shares the connection
     */
    public Punctual withDelayFrom(DelayFrom delayFrom) {
        return new Punctual(connection, settings.withDelayFrom(delayFrom));
    }

    /**
     * The same client with one more header.
     *
     * @param name its name
     * @param value its value
     * @return a client that shares the connection
     */
    public Punctual withHeader(String name, String value) {
        return new Punctual(connection, settings.withHeader(name, value));
    }

    /**
     * Calls an operation by its id in the OpenAPI document, with the fields as they are. Use it for calls that this
     * version does not know, or with {@code Json.class} if you need the exact text of an answer.
     *
     * @param <T> the type of the answer
     * @param operation such as {@code timers.create}
     * @param fields the request
     * @param answer the class of the answer
     * @return the answer
     */
    public <T> T exchange(String operation, Map<String, ?> fields, Class<T> answer) {
        return CancellableFuture.await(() -> exchangeAsync(operation, fields, answer));
    }

    /**
     * {@link #exchange} without blocking.
     *
     * @param <T> the type of the answer
     * @param operation such as {@code timers.create}
     * @param fields the request
     * @param answer the class of the answer
     * @return the answer
     */
    public <T> CompletableFuture<T> exchangeAsync(String operation, Map<String, ?> fields, Class<T> answer) {
        return send(operation, fields, json -> json.as(answer));
    }

    <T> CompletableFuture<T> send(String operation, Map<String, ?> fields, Function<Json, T> reader) {
        return send(operation, () -> fields, reader);
    }

    /** A request that is refused while it is completed or written fails the future, and is not thrown. */
    <T> CompletableFuture<T> send(String operation, Supplier<Map<String, ?>> fields, Function<Json, T> reader) {
        return CancellableFuture.begin(() -> {
            Outgoing outgoing = Outgoing.of(operation, fields.get());
            return new Sending<>(connection, outgoing, settings, answer -> reader.apply(Json.parse(answer.text())))
                    .start();
        });
    }

    /**
     * Lists what an operation answers in pages, with the fields as they are.
     *
     * @param <T> the type of the items
     * @param operation such as {@code timers.list}
     * @param fields the request
     * @param items the field of the answer that has the items
     * @param type the class of the items
     * @return the list
     */
    public <T> Paged<T> list(String operation, Map<String, ?> fields, String items, Class<T> type) {
        return new Paged<>(
                new LinkedHashMap<>(fields),
                request -> send(operation, request, answer -> pageOf(answer, items, type)));
    }

    private static <T> Page<T> pageOf(Json answer, String items, Class<T> type) {
        List<T> found = answer.get(items).map(Json::items).orElse(List.of()).stream()
                .map(item -> item.as(type))
                .toList();
        return new Page<>(found, answer.get("nextCursor").map(cursor -> cursor.as(String.class)), answer);
    }

    /**
     * What happens to timers, as it happens. It is for watching: a program that must not miss anything uses webhooks.
     * The stream blocks until the next event, and throws if the connection breaks: begin again with the id of the last
     * event. Close it:
     *
     * <pre>{@code
     * try (Stream<StreamEvent> events = punctual.events(new StreamEvents().types("dead"))) {
     *     events.forEach(event -> System.out.println(event.data()));
     * }
     * }</pre>
     *
     * @param request which events
     * @return the events
     */
    public Stream<StreamEvent> events(StreamEvents request) {
        return EventReader.open(connection, settings, request);
    }

    /** The options of a client. */
    public static final class Builder {
        private static final Pattern URL = Pattern.compile("https?://[^/?#@]+[^?#@]*");
        private static final Duration USUAL_TIMEOUT = Duration.ofSeconds(10);
        private static final int USUAL_RETRIES = 2;

        private String url;
        private Supplier<String> key;
        private boolean hasKey = true;
        private CallSettings settings =
                new CallSettings(null, DelayFrom.CLIENT, USUAL_TIMEOUT, USUAL_RETRIES, null, Map.of());
        private HttpClient httpClient;
        private System.Logger logger;
        private Hooks hooks = new Hooks() {};
        private Surroundings surroundings = Surroundings.SYSTEM;
        private UnaryOperator<String> environment = System::getenv;

        private Builder() {}

        /**
         * The service. The variable {@code TIMER_URL} when left out.
         *
         * @param url such as {@code https://timers.example.com}
         * @return this builder
         */
        public Builder url(String url) {
            this.url = url;
            return this;
        }

        /**
         * The key. The variable {@code TIMER_API_KEY} when left out.
         *
         * @param key the key
         * @return this builder
         */
        public Builder key(String key) {
            Objects.requireNonNull(key, "key");
            return key(() -> key);
        }

        /**
         * A function that reads the key for each try, in any thread.
         *
         * @param key reads the key. It must be quick, because the call waits for it
         * @return this builder
         */
        public Builder key(Supplier<String> key) {
            this.key = Objects.requireNonNull(key, "key");
            hasKey = true;
            return this;
        }

        /**
         * No key, whatever the environment has. Of this and {@code key}, the last one counts.
         *
         * @return this builder
         */
        public Builder withoutKey() {
            key = null;
            hasKey = false;
            return this;
        }

        /**
         * The namespace of requests that name none.
         *
         * @param namespace its name
         * @return this builder
         */
        public Builder namespace(String namespace) {
            settings = settings.withNamespace(namespace);
            return this;
        }

        /**
         * The time limit of each try; 10 s when left out.
         *
         * @param timeout from 1 ms to 1 day
         * @return this builder
         */
        public Builder timeout(Duration timeout) {
            settings = settings.withTimeout(timeout);
            return this;
        }

        /**
         * How often the client repeats a call that is harmless to repeat; 2 when left out.
         *
         * @param maxRetries from 0 to 100
         * @return this builder
         */
        public Builder maxRetries(int maxRetries) {
            settings = settings.withMaxRetries(maxRetries);
            return this;
        }

        /**
         * Where delays begin; {@code CLIENT} when left out.
         *
         * @param delayFrom where delays begin
         * @return this builder
         */
        public Builder delayFrom(DelayFrom delayFrom) {
            settings = settings.withDelayFrom(delayFrom);
            return this;
        }

        /**
         * A header of every request.
         *
         * @param name its name
         * @param value its value
         * @return this builder
         */
        public Builder header(String name, String value) {
            settings = settings.withHeader(name, value);
            return this;
        }

        /**
         * Your own HTTP client, with a proxy, certificates or an executor. It must not follow redirects: another origin
         * would get the key.
         *
         * @param httpClient the client
         * @return this builder
         */
        public Builder httpClient(HttpClient httpClient) {
            this.httpClient = Objects.requireNonNull(httpClient, "httpClient");
            return this;
        }

        /**
         * Where the client writes what a person should know. The logger {@code io.punctual.client} when left out.
         *
         * @param logger the logger. It never gets payloads or keys
         * @return this builder
         */
        public Builder logger(System.Logger logger) {
            this.logger = Objects.requireNonNull(logger, "logger");
            return this;
        }

        /**
         * What the client tells about its calls.
         *
         * @param hooks for metrics and traces
         * @return this builder
         */
        public Builder hooks(Hooks hooks) {
            this.hooks = Objects.requireNonNull(hooks, "hooks");
            return this;
        }

        Builder surroundings(Surroundings replaced) {
            surroundings = replaced;
            return this;
        }

        Builder environment(UnaryOperator<String> replaced) {
            environment = replaced;
            return this;
        }

        /**
         * Makes the client. It does not connect yet.
         *
         * @return a client
         * @throws IllegalArgumentException if an option is wrong or missing
         */
        public Punctual build() {
            String place = url == null ? environment.apply("TIMER_URL") : url;
            if (place == null || place.isEmpty()) {
                throw new IllegalArgumentException("Punctual needs a url: give one, or set TIMER_URL");
            }
            if (!URL.matcher(place).matches() || !hasHost(place)) {
                throw new IllegalArgumentException(
                        "url must be http://host:port or https://host, without credentials, query and fragment, and its host"
                                + " can have letters, digits, dots and hyphens");
            }
            HttpClient http = httpClient == null ? newHttpClient() : httpClient;
            if (http.followRedirects() != HttpClient.Redirect.NEVER) {
                throw new IllegalArgumentException(
                        "httpClient must not follow redirects: another origin would get the key");
            }
            System.Logger log = logger == null ? System.getLogger("io.punctual.client") : logger;
            String base = place.replaceFirst("/+$", "");
            return new Punctual(new Connection(base, keyOf(), http, log, hooks, surroundings), settings);
        }

        /** The JDK reads no host from a name with an underscore, for example. */
        private static boolean hasHost(String place) {
            try {
                return new URI(place).getHost() != null;
            } catch (URISyntaxException wrong) {
                return false;
            }
        }

        private Supplier<String> keyOf() {
            if (!hasKey || key != null) return key;
            String variable = environment.apply("TIMER_API_KEY");
            return variable == null || variable.isEmpty() ? null : () -> variable;
        }

        /** Without HTTP/2, because its upgrade adds headers to the first request of each connection. */
        private static HttpClient newHttpClient() {
            return HttpClient.newBuilder()
                    .version(HttpClient.Version.HTTP_1_1)
                    .connectTimeout(USUAL_TIMEOUT)
                    .build();
        }
    }
}
