package io.punctual.client.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.punctual.client.examples.Remind.Reminder;
import io.punctual.client.testing.PunctualExtension;
import io.punctual.client.testing.TestReceiver;
import io.punctual.client.testing.TestService;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.extension.ExtendWith;

/** Two weeks in a test: the real service, with a clock that only the test moves. */
@ExtendWith(PunctualExtension.class)
@EnabledIf(
        value = "io.punctual.client.testing.TestService#isAvailable",
        disabledReason = "there is no program punctual: set PUNCTUAL_EXECUTABLE")
class RemindTest {
    @Test
    @DisplayName("a customer who does not pay gets one reminder after 14 days, and one who pays gets none")
    void remindsOnce(TestService service) {
        TestReceiver receiver = service.receiver();
        Remind remind = new Remind(service.punctual(), receiver.url());
        remind.invoiceSent(1);
        remind.invoiceSent(2);

        service.advance("10d");
        assertFalse(remind.invoicePaid(2));
        service.advance("4d");

        List<Reminder> reminders = receiver.events().stream()
                .map(event -> event.payload(Reminder.class).orElseThrow())
                .toList();
        assertEquals(List.of(new Reminder(1)), reminders);
        assertTrue(remind.invoicePaid(1));
    }
}
