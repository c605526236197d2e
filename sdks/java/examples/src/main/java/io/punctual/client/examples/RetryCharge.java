package io.punctual.client.examples;

import io.punctual.client.webhooks.Outcome;
import io.punctual.client.webhooks.TimerEvent;
import io.punctual.client.webhooks.WebhookHandler;
import java.util.List;
import java.util.Optional;
import java.util.function.IntPredicate;

/**
 * Charge a card. If the bank refuses, try again after 1, 3 and 7 days, then give up. The timer arms itself again, and
 * its payload remembers how often the bank has refused.
 */
public final class RetryCharge {
    /** What the timer carries. */
    public record Charge(int customer, int refusals) {}

    private static final List<String> WAITS = List.of("1d", "3d", "7d");

    private final IntPredicate bank;

    /** {@code bank} charges a customer, and says whether that worked. */
    public RetryCharge(IntPredicate bank) {
        this.bank = bank;
    }

    public WebhookHandler receiver(String secret) {
        return WebhookHandler.builder().secrets(secret).handle(this::charge).build();
    }

    private Outcome charge(TimerEvent event) {
        Optional<Charge> found = event.payload(Charge.class);
        if (found.isEmpty()) return Outcome.dead("the timer has no charge");
        Charge charge = found.get();
        if (bank.test(charge.customer())) return Outcome.delivered();
        int refusals = charge.refusals() + 1;
        if (refusals > WAITS.size()) return Outcome.dead("the bank refused " + refusals + " times");
        return Outcome.again(WAITS.get(charge.refusals())).withPayload(new Charge(charge.customer(), refusals));
    }
}
