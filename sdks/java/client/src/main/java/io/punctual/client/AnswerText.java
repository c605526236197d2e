package io.punctual.client;

import java.net.http.HttpHeaders;
import java.util.Optional;

/** A complete answer. */
record AnswerText(int status, HttpHeaders headers, String text) {
    Optional<String> header(String name) {
        return headers.firstValue(name);
    }

    /** The id of the request in the logs of the service. */
    Optional<String> requestId() {
        return header("x-request-id");
    }
}
