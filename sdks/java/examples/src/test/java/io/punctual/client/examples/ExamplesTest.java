package io.punctual.client.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.punctual.client.CreateTimer;
import io.punctual.client.FinishReason;
import io.punctual.client.Timer;
import io.punctual.client.TimerState;
import io.punctual.client.admin.PutNamespace;
import io.punctual.client.examples.Remind.Reminder;
import io.punctual.client.examples.RetryCharge.Charge;
import io.punctual.client.testing.PunctualExtension;
import io.punctual.client.testing.SignedRequest;
import io.punctual.client.testing.TestReceiver;
import io.punctual.client.testing.TestService;
import io.punctual.client.webhooks.WebhookHandler;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.extension.ExtendWith;

/** The other example programs, against the real service with a manual clock. */
@ExtendWith(PunctualExtension.class)
class ExamplesTest {
    private static final String SECRET = "whsec_YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBieXRlcyAuLi4=";
    private static final String MISSING = "there is no program punctual: set PUNCTUAL_EXECUTABLE";

    @Test
    @DisplayName("remind: the handler mails the customer of a signed reminder")
    void mails() {
        List<Integer> mailed = new ArrayList<>();
        WebhookHandler receiver = Remind.receiver(SECRET, mailed::add);
        assertEquals(
                200,
                receiver.handle(new SignedRequest(SECRET)
                                .payload(new Reminder(7))
                                .build())
                        .status());
        assertEquals(
                401,
                receiver.handle(new SignedRequest(null).payload(new Reminder(8)).build())
                        .status());
        assertEquals(List.of(7), mailed);
    }

    @Test
    @EnabledIf(value = "io.punctual.client.testing.TestService#isAvailable", disabledReason = MISSING)
    @DisplayName("retry charge: the bank is asked after 1, 3 and 7 days, and then the timer is dead")
    void retriesCharge(TestService service) {
        service.admin().namespaces().put(new PutNamespace().webhookSecrets(SECRET));
        List<Instant> asked = new CopyOnWriteArrayList<>();
        RetryCharge charges = new RetryCharge(customer -> {
            asked.add(service.now());
            return false;
        });
        TestReceiver receiver = service.receiver(charges.receiver(SECRET));
        service.punctual()
                .timers()
                .create(new CreateTimer()
                        .timerId("charge-42")
                        .delay("1s")
                        .callbackUrl(receiver.url())
                        .payload(new Charge(42, 0)));
        service.advance("30d");

        List<Long> days = asked.stream()
                .map(at -> Duration.between(asked.get(0), at).toDays())
                .toList();
        assertEquals(List.of(0L, 1L, 4L, 11L), days);
        Timer timer = service.punctual().timers().get("charge-42");
        assertEquals(TimerState.DEAD, timer.state());
        assertEquals(FinishReason.REFUSED, timer.reason().orElseThrow());
        assertEquals(new Charge(42, 3), timer.payload(Charge.class).orElseThrow());
        assertTrue(timer.lastAttempt().orElseThrow().answer().orElseThrow().contains("the bank refused 4 times"));
    }

    @Test
    @EnabledIf(value = "io.punctual.client.testing.TestService#isAvailable", disabledReason = MISSING)
    @DisplayName("debounce: many changes save the document once, 5 s after the last one")
    void debounces(TestService service) {
        TestReceiver receiver = service.receiver();
        Debounce debounce = new Debounce(service.punctual(), receiver.url());
        for (int change = 0; change < 5; change++) {
            debounce.documentChanged("a");
            service.advance("4s");
        }
        assertEquals(List.of(), receiver.events());
        service.advance("1s");
        List<Object> payloads = receiver.events().stream()
                .map(event -> event.payload().orElseThrow().value())
                .toList();
        assertEquals(List.of(Map.of("document", "a")), payloads);
    }
}
