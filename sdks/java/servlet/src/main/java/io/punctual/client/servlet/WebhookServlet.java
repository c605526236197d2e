package io.punctual.client.servlet;

import io.punctual.client.webhooks.WebhookHandler;
import io.punctual.client.webhooks.WebhookRequest;
import io.punctual.client.webhooks.WebhookResponse;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The handler as a servlet: {@code context.addServlet("timers", new WebhookServlet(handler)).addMapping("/hooks")}. No
 * filter before it may read the body.
 */
public final class WebhookServlet extends HttpServlet {
    private static final long serialVersionUID = 1L;

    private final transient WebhookHandler handler;

    /**
     * Puts a handler into a servlet container.
     *
     * @param handler the handler
     */
    public WebhookServlet(WebhookHandler handler) {
        this.handler = handler;
    }

    /** A target can have any method. */
    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
        WebhookResponse answer = handler.handle(new WebhookRequest(headersOf(request), request.getInputStream()));
        response.setStatus(answer.status());
        answer.headers().forEach(response::setHeader);
        byte[] body = answer.body().getBytes(StandardCharsets.UTF_8);
        response.setContentLength(body.length);
        response.getOutputStream().write(body);
    }

    private static Map<String, List<String>> headersOf(HttpServletRequest request) {
        Map<String, List<String>> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        for (String name : Collections.list(request.getHeaderNames())) {
            headers.put(name, Collections.list(request.getHeaders(name)));
        }
        return headers;
    }
}
