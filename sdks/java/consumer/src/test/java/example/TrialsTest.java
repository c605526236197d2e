package example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.punctual.client.Punctual;
import io.punctual.client.Timer;
import io.punctual.client.TimerState;
import io.punctual.client.testing.SignedRequest;
import io.punctual.client.testing.TestService;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;

@DisplayName("the installed packages, in a program with modules")
class TrialsTest {
    private static final String SECRET = "whsec_YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBieXRlcyAuLi4=";

    @Test
    @DisplayName("are named modules, and bring no other library")
    void modules() {
        assertTrue(Punctual.class.getModule().isNamed());
        assertEquals("example.consumer", Trials.class.getModule().getName());
        assertThrows(ClassNotFoundException.class, () -> Class.forName("com.fasterxml.jackson.databind.ObjectMapper"));
    }

    @Test
    @DisplayName("receive a signed timer")
    void receives() {
        assertEquals(
                422,
                Trials.handler(SECRET).handle(new SignedRequest(SECRET).build()).status());
        assertEquals(
                "io.punctual.client.servlet",
                Trials.servlet(SECRET).getClass().getModule().getName());
    }

    @Test
    @DisplayName("create, find and read timers of the real service")
    @EnabledIf(
            value = "io.punctual.client.testing.TestService#isAvailable",
            disabledReason = "there is no program punctual: set PUNCTUAL_EXECUTABLE")
    void creates() {
        try (TestService service = TestService.start()) {
            Trials trials = new Trials(service.punctual());
            Timer timer = trials.begin(42);
            assertEquals(TimerState.PENDING, timer.state());
            assertEquals(new Trials.Trial(42), timer.payload(Trials.Trial.class).orElseThrow());
            assertTrue(trials.isMissing("missing"));
            assertFalse(trials.needsKeys());
            // The receiver needs a module of the JDK that is not there by itself.
            assertTrue(service.receiver().url().startsWith("http://127.0.0.1:"));
        }
    }
}
