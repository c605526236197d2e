package io.punctual.client;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.URLEncoder;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** Events of the service (Server-Sent Events), one after the other. */
final class EventReader extends Spliterators.AbstractSpliterator<StreamEvent> {
    /** A longer line is no event of this service. */
    private static final int LINE_CHARS_MAX = 1024 * 1024;

    private static final int REFUSAL_BYTES_MAX = 1024 * 1024;

    private final Connection connection;
    private final BufferedReader lines;

    private EventReader(Connection connection, BufferedReader lines) {
        super(Long.MAX_VALUE, Spliterator.ORDERED | Spliterator.NONNULL);
        this.connection = connection;
        this.lines = lines;
    }

    static Stream<StreamEvent> open(Connection connection, CallSettings settings, StreamEvents request) {
        Map<String, Object> fields = request.fields();
        String query = Stream.of("namespaces", "types")
                .filter(name -> fields.get(name) instanceof Collection<?>)
                .map(name -> name + "=" + encoded((Collection<?>) fields.get(name)))
                .collect(Collectors.joining("&"));
        Map<String, String> headers = new HashMap<>(Map.of("accept", "text/event-stream"));
        if (fields.get("lastEventId") != null)
            headers.put("last-event-id", fields.get("lastEventId").toString());
        HttpResponse<InputStream> response =
                connection.open("events/stream" + (query.isEmpty() ? "" : "?" + query), headers, settings);
        try {
            if (response.statusCode() != 200) {
                byte[] text = response.body().readNBytes(REFUSAL_BYTES_MAX);
                response.body().close();
                throw connection.refusal(response, new String(text, StandardCharsets.UTF_8));
            }
        } catch (IOException broken) {
            throw connection.streamFailure(broken);
        }
        BufferedReader lines = new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8));
        return StreamSupport.stream(new EventReader(connection, lines), false).onClose(() -> close(response.body()));
    }

    private static String encoded(Collection<?> names) {
        String joined = names.stream().map(String::valueOf).collect(Collectors.joining(","));
        return URLEncoder.encode(joined, StandardCharsets.UTF_8);
    }

    private static void close(InputStream body) {
        try {
            body.close();
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    @Override
    public boolean tryAdvance(Consumer<? super StreamEvent> action) {
        Optional<StreamEvent> event;
        try {
            event = nextEvent();
        } catch (IOException broken) {
            if (Thread.currentThread().isInterrupted()) throw Failures.wasAborted(Written.NO, broken);
            throw connection.streamFailure(broken);
        }
        event.ifPresent(action);
        return event.isPresent();
    }

    /** Empty at the end of the stream. A block without a type is a comment, which keeps the connection open. */
    private Optional<StreamEvent> nextEvent() throws IOException {
        Map<String, String> fields = new HashMap<>();
        for (String line = readLine(); line != null; line = readLine()) {
            if (line.isEmpty()) {
                if (fields.containsKey("event")) return Optional.of(eventOf(fields));
                fields.clear();
            } else {
                int colon = line.indexOf(':');
                if (colon > 0)
                    fields.put(
                            line.substring(0, colon), line.substring(colon + 1).replaceFirst("^ ", ""));
            }
        }
        return Optional.empty();
    }

    private static StreamEvent eventOf(Map<String, String> fields) throws IOException {
        String data = fields.getOrDefault("data", "");
        try {
            Optional<Json> json = data.isEmpty() ? Optional.empty() : Optional.of(Json.parse(data));
            return new StreamEvent(fields.get("event"), Optional.ofNullable(fields.get("id")), json);
        } catch (IllegalArgumentException noJson) {
            throw new IOException("the stream has an event that is not JSON", noJson);
        }
    }

    /** Null at the end. */
    private String readLine() throws IOException {
        StringBuilder line = new StringBuilder();
        for (int character = lines.read(); character >= 0; character = lines.read()) {
            if (character == '\n') return line.toString();
            if (character != '\r') line.append((char) character);
            if (line.length() > LINE_CHARS_MAX) throw new IOException("the stream has a line without an end");
        }
        return null;
    }
}
