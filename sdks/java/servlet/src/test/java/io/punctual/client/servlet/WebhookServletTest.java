package io.punctual.client.servlet;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.punctual.client.webhooks.Outcome;
import io.punctual.client.webhooks.Signatures;
import io.punctual.client.webhooks.WebhookHandler;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@DisplayName("the servlet, in a real container")
class WebhookServletTest {
    private static final String SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

    private final List<String> timerIds = new CopyOnWriteArrayList<>();
    private final Tomcat tomcat = new Tomcat();

    @BeforeEach
    void start(@TempDir Path folder) throws Exception {
        WebhookHandler handler = WebhookHandler.builder()
                .secrets(SECRET)
                .maxBodyBytes(1_000)
                .handle(event -> {
                    timerIds.add(event.timerId());
                    return event.timerId().equals("dead") ? Outcome.dead("no such customer") : Outcome.delivered();
                })
                .build();
        tomcat.setBaseDir(folder.toString());
        tomcat.setHostname("127.0.0.1");
        tomcat.setPort(0);
        Context context = tomcat.addContext("", folder.toString());
        Tomcat.addServlet(context, "timers", new WebhookServlet(handler));
        context.addServletMappingDecoded("/hooks", "timers");
        tomcat.start();
        tomcat.getConnector();
    }

    @AfterEach
    void stop() throws Exception {
        tomcat.stop();
        tomcat.destroy();
    }

    private HttpResponse<String> send(String timerId, String body, boolean isSigned) throws Exception {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        long seconds = Instant.now().getEpochSecond();
        String signature = isSigned ? Signatures.sign("fire-1", seconds, bytes, SECRET) : "v1,d3Jvbmc=";
        URI uri = URI.create("http://127.0.0.1:" + tomcat.getConnector().getLocalPort() + "/hooks");
        HttpRequest request = HttpRequest.newBuilder(uri)
                .header("Webhook-Id", "fire-1")
                .header("Webhook-Timestamp", Long.toString(seconds))
                .header("Webhook-Signature", signature)
                .header("Punctual-Timer-Id", timerId)
                .header("Punctual-Execute-At", "2030-01-01T00:00:00.000Z")
                .POST(HttpRequest.BodyPublishers.ofByteArray(bytes))
                .build();
        return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
    }

    @Test
    @DisplayName("checks the signature over the bytes, calls the function and answers")
    void receives() throws Exception {
        HttpResponse<String> delivered = send("%C3%A4", "{ \"n\":12345678901234567890 }", true);
        assertEquals(200, delivered.statusCode());
        assertEquals("{\"ok\":true}", delivered.body());
        HttpResponse<String> dead = send("dead", "{}", true);
        assertEquals(422, dead.statusCode());
        assertEquals("never", dead.headers().firstValue("punctual-retry").orElseThrow());
        assertEquals(401, send("unsigned", "{}", false).statusCode());
        assertEquals(413, send("large", "\"" + "x".repeat(2_000) + "\"", true).statusCode());
        assertEquals(400, send("broken", "{", true).statusCode());
        assertEquals(List.of("ä", "dead"), timerIds);
    }
}
