package io.punctual.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@DisplayName("the stream of events")
class EventsTest {
    private final List<String> asked = new CopyOnWriteArrayList<>();
    private HttpServer server;
    private Punctual punctual;
    private String body = "";
    private int status = 200;

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            try (exchange) {
                asked.add(exchange.getRequestURI() + " "
                        + exchange.getRequestHeaders().getFirst("last-event-id"));
                byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
                exchange.sendResponseHeaders(status, bytes.length);
                exchange.getResponseBody().write(bytes);
            }
        });
        server.start();
        String url = "http://127.0.0.1:" + server.getAddress().getPort();
        punctual = Punctual.builder().url(url).withoutKey().build();
    }

    @AfterEach
    void stop() {
        server.stop(0);
    }

    private List<StreamEvent> read(StreamEvents request) {
        try (Stream<StreamEvent> events = punctual.events(request)) {
            return events.toList();
        }
    }

    @Test
    @DisplayName("has types, ids and data, and skips comments")
    void events() {
        body = ": hello\n\nevent: created\r\nid: 7\ndata: {\"timerId\":\"ä\"}\n\n:\n\nevent: nodes\n\nevent: cut";
        List<StreamEvent> events = read(
                new StreamEvents().namespaces("a", "team-*").types("created").lastEventId("6"));
        assertEquals(
                List.of(
                        new StreamEvent("created", Optional.of("7"), Optional.of(Json.parse("{\"timerId\":\"ä\"}"))),
                        new StreamEvent("nodes", Optional.empty(), Optional.empty())),
                events);
        assertEquals(List.of("/api/v1/events/stream?namespaces=a%2Cteam-*&types=created 6"), asked);
    }

    @Test
    @Timeout(60) // Without an end of the wait this test would never end.
    @DisplayName("an interrupt ends the wait for the next event")
    void interrupts() throws IOException, InterruptedException {
        try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Punctual waiting = Punctual.builder()
                    .url("http://127.0.0.1:" + silent.getLocalPort())
                    .withoutKey()
                    .build();
            List<PunctualException> failures = new CopyOnWriteArrayList<>();
            CountDownLatch begun = new CountDownLatch(1);
            Thread reader = new Thread(() -> {
                try (Stream<StreamEvent> events = waiting.events(new StreamEvents())) {
                    events.forEach(event -> begun.countDown());
                } catch (PunctualException failure) {
                    failures.add(failure);
                }
            });
            reader.start();
            try (Socket socket = silent.accept()) {
                socket.getOutputStream()
                        .write("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\nevent: nodes\n\n"
                                .getBytes(StandardCharsets.US_ASCII));
                begun.await();
                reader.interrupt();
                reader.join();
            }
            assertEquals("aborted", failures.get(0).code());
            assertEquals(Written.NO, failures.get(0).written());
        }
    }

    @Test
    @DisplayName("a refusal and a broken event are exceptions, and nothing was written")
    void failures() {
        status = 400;
        body = "{\"code\":\"invalidRequest\",\"detail\":\"no such type\"}";
        PunctualException refused =
                assertThrows(InvalidRequestException.class, () -> read(new StreamEvents().types("x")));
        assertEquals(Written.NO, refused.written());
        status = 200;
        body = "event: created\ndata: {\n\n";
        PunctualException broken = assertThrows(ConnectionException.class, () -> read(new StreamEvents()));
        assertEquals("connectionLost", broken.code());
        body = "x".repeat(1024 * 1024 + 1);
        assertThrows(ConnectionException.class, () -> read(new StreamEvents()));
        server.stop(0);
        assertEquals(
                "connectionRefused",
                assertThrows(ConnectionException.class, () -> punctual.events(new StreamEvents()))
                        .code());
    }
}
