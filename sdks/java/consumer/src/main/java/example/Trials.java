package example;

import io.punctual.client.CreateTimer;
import io.punctual.client.NotFoundException;
import io.punctual.client.Punctual;
import io.punctual.client.Timer;
import io.punctual.client.admin.Admin;
import io.punctual.client.servlet.WebhookServlet;
import io.punctual.client.webhooks.Outcome;
import io.punctual.client.webhooks.WebhookHandler;

/** Uses every part of the client. */
final class Trials {
    /** A payload. */
    record Trial(int customer) {}

    private final Punctual punctual;

    Trials(Punctual punctual) {
        this.punctual = punctual;
    }

    Timer begin(int customer) {
        CreateTimer request =
                new CreateTimer().delay("1h").callbackUrl("http://127.0.0.1:9/").payload(new Trial(customer));
        String timerId = punctual.timers().create(request).timer().timerId();
        return punctual.timers().get(timerId);
    }

    boolean isMissing(String timerId) {
        try {
            punctual.timers().get(timerId);
            return false;
        } catch (NotFoundException missing) {
            return true;
        }
    }

    boolean needsKeys() {
        return new Admin(punctual).keys().self().keysRequired();
    }

    static WebhookHandler handler(String secret) {
        return WebhookHandler.builder()
                .secrets(secret)
                .handle(event -> Outcome.dead("end"))
                .build();
    }

    static WebhookServlet servlet(String secret) {
        return new WebhookServlet(handler(secret));
    }
}
