package io.punctual.client.examples;

import io.punctual.client.CancelResult;
import io.punctual.client.CreateTimer;
import io.punctual.client.Punctual;
import io.punctual.client.webhooks.Outcome;
import io.punctual.client.webhooks.WebhookHandler;
import java.util.function.IntConsumer;

/** Remind a customer 14 days after an invoice, and cancel the reminder when the invoice is paid. */
public final class Remind {
    /** What the timer carries. */
    public record Reminder(int invoice) {}

    private final Punctual punctual;
    private final String callbackUrl;

    public Remind(Punctual punctual, String callbackUrl) {
        this.punctual = punctual;
        this.callbackUrl = callbackUrl;
    }

    public void invoiceSent(int invoice) {
        punctual.timers()
                .create(new CreateTimer()
                        .timerId("remind-" + invoice)
                        .delay("14d")
                        .callbackUrl(callbackUrl)
                        .payload(new Reminder(invoice)));
    }

    /** Whether the customer got, or gets, a reminder although the invoice is paid. */
    public boolean invoicePaid(int invoice) {
        CancelResult result = punctual.timers().cancel("remind-" + invoice);
        return result == CancelResult.IN_FLIGHT || result == CancelResult.ALREADY_DELIVERED;
    }

    public static WebhookHandler receiver(String secret, IntConsumer mail) {
        return WebhookHandler.builder()
                .secrets(secret)
                .handle(event -> {
                    event.payload(Reminder.class).ifPresent(reminder -> mail.accept(reminder.invoice()));
                    return Outcome.delivered();
                })
                .build();
    }
}
