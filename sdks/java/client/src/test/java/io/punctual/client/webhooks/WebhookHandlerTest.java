package io.punctual.client.webhooks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import io.punctual.client.Cases;
import io.punctual.client.Json;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("the webhook handler")
class WebhookHandlerTest {
    private static final Json CASE = Cases.of("receive").get(0);
    private static final String BODY =
            "{\"type\":\"timer.fired\",\"fireId\":\"01b8d832-8600-7000-8000-03fe5c9c45b0\",\"payload\":{"
                    + " \"n\":12345678901234567890 }}";

    private static WebhookHandler.Builder builder() {
        return WebhookHandler.builder()
                .secrets(ReceiveCases.SECRET)
                .logger(new QuietLogger())
                .clock(Clock.fixed(ReceiveCases.NOW, ZoneOffset.UTC));
    }

    @Test
    @DisplayName("gives the exact text of the payload, and the deadline")
    void event() {
        List<TimerEvent> events = new ArrayList<>();
        Instant before = Instant.now().truncatedTo(ChronoUnit.MILLIS);
        WebhookHandler handler = builder()
                .timeout(Duration.ofHours(1))
                .handle(event -> {
                    events.add(event);
                    return Outcome.delivered();
                })
                .build();
        assertEquals(200, handler.handle(ReceiveCases.requestOf(CASE, BODY)).status());
        TimerEvent event = events.get(0);
        assertEquals(
                "{ \"n\":12345678901234567890 }", event.payload().orElseThrow().text());
        assertTrue(!event.deadline().isBefore(before.plusSeconds(3600)));
        assertTrue(event.remaining().compareTo(Duration.ZERO) > 0);
        assertEquals(
                "TimerEvent[billing/ä/1 timer.fired 01b8d832-8600-7000-8000-03fe5c9c45b0 attempt 2]", event.toString());
    }

    @Test
    @DisplayName("must have secrets, or say that there are none")
    void secrets() {
        TimerFunction function = event -> Outcome.delivered();
        WebhookHandler.Builder none = WebhookHandler.builder().handle(function);
        assertTrue(assertThrows(IllegalArgumentException.class, none::build)
                .getMessage()
                .contains("at least one secret"));
        WebhookHandler.Builder wrong = WebhookHandler.builder().handle(function).secrets("whsec_short");
        Throwable refused = assertThrows(IllegalArgumentException.class, wrong::build);
        assertTrue(refused.getMessage().contains("24 to 64 bytes"));
        assertTrue(!refused.getMessage().contains("whsec_short"));
        Throwable unset = assertThrows(IllegalArgumentException.class, () -> builder().secrets((String) null));
        assertTrue(unset.getMessage().contains("is its variable set"));
        assertThrows(IllegalArgumentException.class, () -> builder().on("a", function).on("a", function));
        assertThrows(NullPointerException.class, () -> builder().on("a", null));
        assertThrows(IllegalArgumentException.class, builder()::build);
        assertThrows(IllegalArgumentException.class, builder().handle(function).on("a", function)::build);
        assertThrows(IllegalArgumentException.class, builder().handle(function).fallback(function)::build);
        QuietLogger logger = new QuietLogger();
        WebhookHandler.builder()
                .handle(function)
                .withoutSecrets()
                .logger(logger)
                .build();
        assertTrue(logger.warnings.get(0).contains("without a signature"));
    }

    @Test
    @DisplayName("a function that returns null, and a memory that fails, are failed attempts")
    void failures() {
        QuietLogger logger = new QuietLogger();
        WebhookHandler handler = builder().logger(logger).handle(event -> null).build();
        assertEquals(500, handler.handle(ReceiveCases.requestOf(CASE, BODY)).status());
        assertEquals(1, logger.warnings.size());
        assertThrows(IllegalArgumentException.class, () -> Outcome.again("soon"));
    }

    @Test
    @DisplayName("arms a timer again with the payload null, and shows no payload as text")
    void nullPayload() {
        Outcome.Again again = Outcome.again("1d").withPayload(null);
        WebhookResponse answer =
                builder().handle(event -> again).build().handle(ReceiveCases.requestOf(CASE, BODY));
        assertEquals("{\"ok\":true,\"nextDelay\":\"1d\",\"payload\":null}", answer.body());
        assertEquals("WebhookResponse[200]", answer.toString());
        assertEquals("Again[1d]", again.withPayload("secret").toString());
    }

    @Test
    @DisplayName("answers a request whose body breaks off, is no JSON or lacks a header")
    void broken() {
        WebhookHandler handler = builder().handle(event -> Outcome.delivered()).build();
        InputStream breaking = new InputStream() {
            @Override
            public int read() throws IOException {
                throw new IOException("aborted");
            }
        };
        assertEquals(400, handler.handle(new WebhookRequest(Map.of(), breaking)).status());
        assertEquals(400, handler.handle(ReceiveCases.requestOf(CASE, "{")).status());
        assertEquals(
                400,
                handler.handle(ReceiveCases.requestOf(Json.parse("{}"), "1")).status());
    }

    @Test
    @DisplayName("works behind the HTTP server of the JDK")
    void httpServer() throws IOException, InterruptedException {
        WebhookHandler handler = builder()
                .maxBodyBytes(1_000)
                .handle(event -> Outcome.again("1d"))
                .build();
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/hooks", new HttpServerHandler(handler));
        server.start();
        try {
            URI uri = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/hooks");
            assertEquals("200 {\"ok\":true,\"nextDelay\":\"1d\"}", sent(uri, BODY));
            assertEquals("413 the body is too large", sent(uri, "\"" + "x".repeat(1_000) + "\""));
        } finally {
            server.stop(0);
        }
    }

    private static String sent(URI uri, String body) throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(uri).POST(HttpRequest.BodyPublishers.ofString(body));
        ReceiveCases.requestOf(CASE, body).headers().forEach((name, values) -> request.header(name, values.get(0)));
        HttpResponse<String> answer =
                HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofString());
        return answer.statusCode() + " " + answer.body();
    }
}
