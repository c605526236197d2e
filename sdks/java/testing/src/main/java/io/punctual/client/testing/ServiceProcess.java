package io.punctual.client.testing;

import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The service as a child process. It ends with {@link #close()}, or with this program. */
final class ServiceProcess implements AutoCloseable {
    private static final Duration START_WITHIN = Duration.ofMinutes(1);
    private static final int OUTPUT_CHARS_KEPT = 10_000;
    private static final Pattern LISTENS = Pattern.compile("listens on (https?:\\S+)\\s");

    private final Process process;
    private final Thread ending = new Thread(this::kill);
    private final StringBuilder output = new StringBuilder();
    private final CompletableFuture<String> listening = new CompletableFuture<>();
    private final String url;

    private ServiceProcess(Process process) {
        this.process = process;
        // If the test ends without a close, the service must not stay.
        Runtime.getRuntime().addShutdownHook(ending);
        read();
        try {
            this.url = untilReady();
        } catch (RuntimeException failure) {
            close();
            throw failure;
        }
    }

    static ServiceProcess start(String executable, Map<String, String> settings) {
        String program = Optional.ofNullable(executable)
                .or(ServiceProcess::findExecutable)
                .orElseThrow(ServiceProcess::missing);
        ProcessBuilder builder = new ProcessBuilder(program, "serve").redirectErrorStream(true);
        // Settings of the machine must not reach the test.
        builder.environment().keySet().removeIf(name -> name.startsWith("TIMER_"));
        builder.environment().putAll(settings);
        try {
            Process process = builder.start();
            process.getOutputStream().close();
            return new ServiceProcess(process);
        } catch (IOException failure) {
            throw new IllegalStateException("the test service could not start: " + failure.getMessage(), failure);
        }
    }

    static Optional<String> findExecutable() {
        String given = System.getenv("PUNCTUAL_EXECUTABLE");
        if (given != null && !given.isEmpty()) return Optional.of(given);
        return Stream.of(Optional.ofNullable(System.getenv("PATH")).orElse("").split(File.pathSeparator))
                .filter(folder -> !folder.isEmpty())
                .map(folder -> Path.of(folder, "punctual"))
                .filter(Files::isExecutable)
                .map(Path::toString)
                .findFirst();
    }

    private static IllegalStateException missing() {
        return new IllegalStateException(
                "there is no program punctual: set PUNCTUAL_EXECUTABLE to it, or put it on the PATH");
    }

    String url() {
        return url;
    }

    /** Reads all output, because a program whose output nobody reads stops. */
    private void read() {
        Thread reading = new Thread(() -> {
            try (Reader text = new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8)) {
                char[] part = new char[4096];
                for (int length = text.read(part); length >= 0; length = text.read(part))
                    note(new String(part, 0, length));
            } catch (IOException ended) {
                note("\n" + ended.getMessage());
            }
            listening.completeExceptionally(new IllegalStateException("the test service ended\n" + outputSoFar()));
        });
        reading.setDaemon(true);
        reading.start();
    }

    private void note(String part) {
        synchronized (output) {
            output.append(part);
            if (output.length() > OUTPUT_CHARS_KEPT) output.delete(0, output.length() - OUTPUT_CHARS_KEPT);
            Matcher match = LISTENS.matcher(output);
            if (match.find()) listening.complete(match.group(1));
        }
    }

    private String outputSoFar() {
        synchronized (output) {
            return output.toString();
        }
    }

    private String untilReady() {
        Instant end = Instant.now().plus(START_WITHIN);
        try {
            String place = listening.get(START_WITHIN.toSeconds(), TimeUnit.SECONDS);
            HttpClient http =
                    HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
            HttpRequest request = HttpRequest.newBuilder(URI.create(place + "/health/ready"))
                    .timeout(START_WITHIN)
                    .build();
            while (Instant.now().isBefore(end)) {
                if (http.send(request, HttpResponse.BodyHandlers.discarding()).statusCode() == 200) return place;
                TimeUnit.MILLISECONDS.sleep(20);
            }
            throw new IllegalStateException("the test service did not start in time\n" + outputSoFar());
        } catch (TimeoutException | IOException failure) {
            throw new IllegalStateException("the test service did not start in time\n" + outputSoFar(), failure);
        } catch (ExecutionException failure) {
            throw new IllegalStateException(failure.getCause().getMessage(), failure.getCause());
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("the test was interrupted", interrupted);
        }
    }

    private void kill() {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
    }

    @Override
    public void close() {
        kill();
        process.onExit().join();
        try {
            Runtime.getRuntime().removeShutdownHook(ending);
        } catch (IllegalStateException alreadyEnding) {
            // The program ends, so the hook runs anyway.
            return;
        }
    }
}
