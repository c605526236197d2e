package io.punctual.client;

/** The HTTP method of a webhook. */
public enum WebhookMethod {
    /** POST. */
    POST("POST"),
    /** PUT. */
    PUT("PUT"),
    /** PATCH. */
    PATCH("PATCH"),
    /** GET. */
    GET("GET"),
    /** DELETE. */
    DELETE("DELETE"),
    /** A value of a newer service. {@code json()} has its text. */
    UNKNOWN("unknown");

    private final String text;

    WebhookMethod(String text) {
        this.text = text;
    }

    /** As in the contract. */
    @Override
    public String toString() {
        return text;
    }
}
