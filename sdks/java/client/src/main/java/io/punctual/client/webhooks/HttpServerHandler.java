package io.punctual.client.webhooks;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/**
 * The handler for the HTTP server of the JDK: {@code server.createContext("/hooks", new HttpServerHandler(handler))}. A
 * program with modules needs {@code requires jdk.httpserver}.
 */
public final class HttpServerHandler implements HttpHandler {
    private final WebhookHandler handler;

    /**
     * Puts a handler behind the HTTP server of the JDK.
     *
     * @param handler the handler
     */
    public HttpServerHandler(WebhookHandler handler) {
        this.handler = handler;
    }

    @Override
    public void handle(HttpExchange exchange) throws IOException {
        try (exchange) {
            WebhookResponse answer =
                    handler.handle(new WebhookRequest(exchange.getRequestHeaders(), exchange.getRequestBody()));
            answer.headers().forEach(exchange.getResponseHeaders()::set);
            byte[] body = answer.body().getBytes(StandardCharsets.UTF_8);
            // Minus one is how this server says that there is no body.
            exchange.sendResponseHeaders(answer.status(), body.length == 0 ? -1 : body.length);
            exchange.getResponseBody().write(body);
        }
    }
}
