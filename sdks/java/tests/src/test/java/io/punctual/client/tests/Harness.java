package io.punctual.client.tests;

import io.punctual.client.Json;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** The harness of the clients' tests: networks that fail, and clusters (sdks/harness/README.md). */
final class Harness {
    static final String MISSING = "there is no harness: run npm run test:clients";
    private static final String URL = System.getenv("PUNCTUAL_HARNESS");
    private static final HttpClient HTTP =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    private Harness() {}

    static boolean isAvailable() {
        return URL != null && !URL.isEmpty();
    }

    private static Json ask(String method, String path, Object body) {
        HttpRequest request = HttpRequest.newBuilder(URI.create(URL + path))
                .timeout(Duration.ofMinutes(3))
                .method(
                        method,
                        HttpRequest.BodyPublishers.ofString(Json.of(body).text()))
                .build();
        try {
            HttpResponse<String> answer = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
            if (answer.statusCode() != 200) throw new IllegalStateException(path + ": " + answer.body());
            return Json.parse(answer.body());
        } catch (IOException failure) {
            throw new IllegalStateException(failure);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(interrupted);
        }
    }

    /** A network before a service. */
    record Proxy(String id, String url) implements AutoCloseable {
        static Proxy before(String target) {
            return ask("POST", "/proxies", Map.of("target", target)).as(Proxy.class);
        }

        /** What happens to the next requests. Later ones pass. */
        void faults(String... faults) {
            ask("PUT", "/proxies/" + id + "/faults", List.of(faults));
        }

        long requests() {
            return ask("GET", "/proxies/" + id, Map.of())
                    .get("requests")
                    .orElseThrow()
                    .as(long.class);
        }

        @Override
        public void close() {
            ask("DELETE", "/proxies/" + id, Map.of());
        }
    }

    /** Three nodes on a real PostgreSQL. */
    record Cluster(String id, List<String> urls) implements AutoCloseable {
        static Cluster start() {
            return ask("POST", "/clusters", Map.of()).as(Cluster.class);
        }

        void kill(int node) {
            ask("DELETE", "/clusters/" + id + "/nodes/" + node, Map.of());
        }

        @Override
        public void close() {
            ask("DELETE", "/clusters/" + id, Map.of());
        }
    }
}
