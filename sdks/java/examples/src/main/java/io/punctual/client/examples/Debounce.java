package io.punctual.client.examples;

import io.punctual.client.CreateTimer;
import io.punctual.client.Punctual;
import java.util.Map;

/** Save a document 5 s after the last change. Every change creates the same timer again, which moves it. */
public final class Debounce {
    private final Punctual punctual;
    private final String callbackUrl;

    public Debounce(Punctual punctual, String callbackUrl) {
        this.punctual = punctual;
        this.callbackUrl = callbackUrl;
    }

    public void documentChanged(String document) {
        punctual.timers()
                .create(new CreateTimer()
                        .timerId("save-" + document)
                        .delay("5s")
                        .callbackUrl(callbackUrl)
                        .payload(Map.of("document", document)));
    }
}
