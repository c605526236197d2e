package io.punctual.client.testing;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.punctual.client.webhooks.TimerEvent;
import io.punctual.client.webhooks.WebhookRequest;
import io.punctual.client.webhooks.WebhookResponse;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.BiFunction;

/**
 * An endpoint for timers in the process of a test. It records what it gets. Make it with {@link
 * TestService#receiver()}.
 */
public final class TestReceiver implements AutoCloseable {
    private static final String HOST = "127.0.0.1";
    /** The service gives up an attempt after 15 s. */
    private static final int TIMEOUT_SECONDS = 15;

    private static final int BODY_BYTES_MAX = 16 * 1024 * 1024;

    private final List<TimerEvent> events = new CopyOnWriteArrayList<>();
    private final List<byte[]> bodies = new CopyOnWriteArrayList<>();
    private final BiFunction<WebhookRequest, TimerEvent, WebhookResponse> reply;
    private final ExecutorService threads = Executors.newCachedThreadPool(TestReceiver::daemon);
    private final HttpServer server;

    TestReceiver(BiFunction<WebhookRequest, TimerEvent, WebhookResponse> reply) {
        this.reply = reply;
        try {
            server = HttpServer.create(new InetSocketAddress(HOST, 0), 0);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        server.createContext("/", this::receive);
        server.setExecutor(threads);
        server.start();
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "punctual-test-receiver");
        thread.setDaemon(true);
        return thread;
    }

    /**
     * The URL to send timers to.
     *
     * @return a URL of this machine
     */
    public String url() {
        return "http://" + HOST + ":" + server.getAddress().getPort() + "/";
    }

    /**
     * What arrived, in order.
     *
     * @return the timers so far
     */
    public List<TimerEvent> events() {
        return List.copyOf(events);
    }

    /**
     * The exact bytes of the bodies that arrived, in the same order.
     *
     * @return the bodies so far
     */
    public List<byte[]> bodies() {
        return List.copyOf(bodies);
    }

    private void receive(HttpExchange exchange) throws IOException {
        try (exchange) {
            byte[] body = exchange.getRequestBody().readNBytes(BODY_BYTES_MAX);
            WebhookResponse answer;
            try {
                WebhookRequest request = new WebhookRequest(exchange.getRequestHeaders(), body);
                TimerEvent event = TimerEvent.of(request, body, Instant.now().plusSeconds(TIMEOUT_SECONDS));
                synchronized (this) {
                    events.add(event);
                    bodies.add(body);
                }
                answer = reply.apply(request, event);
            } catch (RuntimeException failure) {
                answer = WebhookResponse.text(500, String.valueOf(failure));
            }
            byte[] text = answer.body().getBytes(StandardCharsets.UTF_8);
            answer.headers().forEach(exchange.getResponseHeaders()::set);
            exchange.sendResponseHeaders(answer.status(), text.length == 0 ? -1 : text.length);
            exchange.getResponseBody().write(text);
        }
    }

    /** Closes the port and all connections. */
    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
