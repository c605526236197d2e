package io.punctual.client;

import java.io.IOException;
import java.net.Authenticator;
import java.net.ConnectException;
import java.net.CookieHandler;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.stream.Collectors;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSession;

/** An HTTP client whose answers follow a script. It keeps what it was asked to send. */
final class ScriptedHttp extends HttpClient {
    /** One entry of a script: an answer, or a failure ({@code refused}, {@code lost}, {@code timeout}). */
    record Try(String failure, int status, Map<String, String> headers, String body) {
        static Try answer(String body) {
            return new Try(null, 200, Map.of(), body);
        }

        static Try failure(String failure) {
            return new Try(failure, 0, Map.of(), "");
        }

        static Try of(Json json) {
            Map<String, String> headers = Cases.members(json, "headers").entrySet().stream()
                    .collect(Collectors.toMap(
                            Map.Entry::getKey, entry -> entry.getValue().as(String.class)));
            int status = json.get("status").map(found -> found.as(int.class)).orElse(200);
            String body = Optional.ofNullable(Cases.text(json, "body")).orElse("{}");
            return new Try(Cases.text(json, "failure"), status, headers, body);
        }
    }

    record Sent(URI uri, HttpHeaders headers, String text) {}

    final List<Sent> sent = new CopyOnWriteArrayList<>();
    /** The tries that never answer. */
    final List<CompletableFuture<?>> hanging = new CopyOnWriteArrayList<>();

    private final List<Try> tries;

    ScriptedHttp(List<Try> tries) {
        this.tries = tries;
    }

    @Override
    public <T> CompletableFuture<HttpResponse<T>> sendAsync(HttpRequest request, HttpResponse.BodyHandler<T> handler) {
        Try next = sent.size() < tries.size() ? tries.get(sent.size()) : Try.failure("refused");
        sent.add(new Sent(request.uri(), request.headers(), bodyOf(request)));
        if ("timeout".equals(next.failure())) {
            CompletableFuture<HttpResponse<T>> never = new CompletableFuture<>();
            hanging.add(never);
            return never;
        }
        if ("refused".equals(next.failure())) return CompletableFuture.failedFuture(new ConnectException());
        if (next.failure() != null) return CompletableFuture.failedFuture(new IOException("connection reset"));
        Map<String, List<String>> headers = next.headers().entrySet().stream()
                .collect(Collectors.toMap(Map.Entry::getKey, entry -> List.of(entry.getValue())));
        Answer<T> answer = new Answer<>(request, next.status(), HttpHeaders.of(headers, (name, value) -> true));
        HttpResponse.BodySubscriber<T> body = handler.apply(answer);
        body.onSubscribe(new Flow.Subscription() {
            @Override
            public void request(long count) {}

            @Override
            public void cancel() {}
        });
        body.onNext(List.of(ByteBuffer.wrap(next.body().getBytes(StandardCharsets.UTF_8))));
        body.onComplete();
        return body.getBody().toCompletableFuture().thenApply(answer::with);
    }

    private static String bodyOf(HttpRequest request) {
        StringBuilder text = new StringBuilder();
        request.bodyPublisher()
                .ifPresent(publisher -> publisher.subscribe(new Flow.Subscriber<>() {
                    @Override
                    public void onSubscribe(Flow.Subscription subscription) {
                        subscription.request(Long.MAX_VALUE);
                    }

                    @Override
                    public void onNext(ByteBuffer part) {
                        text.append(StandardCharsets.UTF_8.decode(part));
                    }

                    @Override
                    public void onError(Throwable failure) {
                        throw new IllegalStateException(failure);
                    }

                    @Override
                    public void onComplete() {}
                }));
        return text.toString();
    }

    private record Answer<T>(HttpRequest request, int statusCode, HttpHeaders headers, T body)
            implements HttpResponse<T>, HttpResponse.ResponseInfo {
        Answer(HttpRequest request, int statusCode, HttpHeaders headers) {
            this(request, statusCode, headers, null);
        }

        HttpResponse<T> with(T received) {
            return new Answer<>(request, statusCode, headers, received);
        }

        @Override
        public Optional<HttpResponse<T>> previousResponse() {
            return Optional.empty();
        }

        @Override
        public Optional<SSLSession> sslSession() {
            return Optional.empty();
        }

        @Override
        public URI uri() {
            return request.uri();
        }

        @Override
        public Version version() {
            return Version.HTTP_1_1;
        }
    }

    @Override
    public <T> CompletableFuture<HttpResponse<T>> sendAsync(
            HttpRequest request, HttpResponse.BodyHandler<T> handler, HttpResponse.PushPromiseHandler<T> pushes) {
        return sendAsync(request, handler);
    }

    @Override
    public <T> HttpResponse<T> send(HttpRequest request, HttpResponse.BodyHandler<T> handler) {
        return sendAsync(request, handler).join();
    }

    @Override
    public Optional<CookieHandler> cookieHandler() {
        return Optional.empty();
    }

    @Override
    public Optional<Duration> connectTimeout() {
        return Optional.empty();
    }

    @Override
    public Redirect followRedirects() {
        return Redirect.NEVER;
    }

    @Override
    public Optional<ProxySelector> proxy() {
        return Optional.empty();
    }

    @Override
    public SSLContext sslContext() {
        throw new UnsupportedOperationException();
    }

    @Override
    public SSLParameters sslParameters() {
        return new SSLParameters();
    }

    @Override
    public Optional<Authenticator> authenticator() {
        return Optional.empty();
    }

    @Override
    public Version version() {
        return Version.HTTP_1_1;
    }

    @Override
    public Optional<Executor> executor() {
        return Optional.empty();
    }
}
