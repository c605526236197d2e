package io.punctual.client.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.punctual.client.CancelResult;
import io.punctual.client.ConflictException;
import io.punctual.client.CountTimers;
import io.punctual.client.CreateResult;
import io.punctual.client.CreateTimer;
import io.punctual.client.CreateTimerAnswer;
import io.punctual.client.CancelManyTimers;
import io.punctual.client.ListState;
import io.punctual.client.ListTimers;
import io.punctual.client.NotFoundException;
import io.punctual.client.Punctual;
import io.punctual.client.PunctualException;
import io.punctual.client.Timer;
import io.punctual.client.TimerFilter;
import io.punctual.client.TimerState;
import io.punctual.client.Timers;
import io.punctual.client.UpdateTimer;
import io.punctual.client.Written;
import io.punctual.client.testing.TestReceiver;
import io.punctual.client.testing.TestService;
import io.punctual.client.webhooks.TimerEvent;
import io.punctual.client.webhooks.WebhookResponse;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The whole life of a timer through the client, against the real service, over a network that loses requests and
 * answers, keeps them too long and doubles them.
 */
@EnabledIf(value = "io.punctual.client.tests.Harness#isAvailable", disabledReason = Harness.MISSING)
class LifeTest {
    private static final String NOWHERE = "http://127.0.0.1:9/";

    private static TestService service;
    private static Harness.Proxy proxy;
    /** Through the network. Delays count by the clock of this machine, as in a real program. */
    private static Punctual punctual;

    @BeforeAll
    static void start() {
        service = TestService.start();
        proxy = Harness.Proxy.before(service.url());
        // A call whose answer is held ends after this. The tries after it have the same limit, so there are many of
        // them.
        punctual = Punctual.builder()
                .url(proxy.url())
                .withoutKey()
                .namespace("test")
                .maxRetries(5)
                .timeout(Duration.ofSeconds(2))
                .build();
    }

    @AfterAll
    static void stop() {
        if (proxy != null) proxy.close();
        if (service != null) service.close();
    }

    /** Makes the call while the network has this fault once. */
    private static <T> T under(String fault, Supplier<T> call) {
        proxy.faults(fault);
        return call.get();
    }

    private static CreateTimer timer(String timerId, String callbackUrl) {
        Instant executeAt = service.now().plus(Duration.ofHours(1));
        return new CreateTimer().timerId(timerId).executeAt(executeAt).callbackUrl(callbackUrl);
    }

    @ParameterizedTest(name = "a timer lives its life in spite of the network: {0}")
    @ValueSource(strings = {"pass", "cutBefore", "cutAfter", "hold", "duplicate"})
    void lives(String fault) {
        Timers timers = punctual.timers();
        TestReceiver receiver =
                service.receiver(event -> WebhookResponse.text(event.timerId().startsWith("bad") ? 422 : 200, ""));
        String timerId = Punctual.newTimerId();
        String bad = "bad-" + timerId;
        // Each held answer takes its time, so only two calls are held: one that succeeds after it, and one that does
        // not.
        String later = fault.equals("hold") ? "pass" : fault;

        CreateTimer request = timer(timerId, receiver.url());
        CreateTimerAnswer created = under(fault, () -> timers.create(request));
        assertTrue(Set.of(CreateResult.CREATED, CreateResult.UNCHANGED).contains(created.result()));
        CreateTimer badRequest = timer(bad, receiver.url());
        under(later, () -> timers.createMany(List.of(badRequest)));
        Timer read = under(later, () -> timers.get(timerId));
        assertEquals(created.timer().revision(), read.revision());
        assertUpdates(fault, new UpdateTimer(timerId).tags(timerId).ifRevision(read.revision()));
        List<Timer> listed =
                under(later, () -> timers.list(new ListTimers().tag(timerId)).toList(10));
        assertEquals(List.of(timerId), listed.stream().map(Timer::timerId).toList());

        service.advance("1h");
        Set<String> received =
                Set.copyOf(receiver.events().stream().map(TimerEvent::timerId).toList());
        assertEquals(Set.of(bad, timerId), received);
        assertEquals(2, receiver.events().size());
        assertEquals(
                TimerState.DELIVERED, under(later, () -> timers.get(timerId)).state());
        assertEquals(CancelResult.ALREADY_DELIVERED, under(later, () -> timers.cancel(timerId)));
        assertEquals(TimerState.DEAD, under(later, () -> timers.get(bad)).state());
        CountTimers dead = new CountTimers().state(ListState.DEAD).idPrefix(bad);
        assertEquals(1, under(later, () -> timers.count(dead)).count());
    }

    /** If the first answer was lost, the repeat finds the new revision: then the change may be our own. */
    private static void assertUpdates(String fault, UpdateTimer request) {
        if (fault.equals("pass") || fault.equals("cutBefore")) {
            assertEquals(
                    1,
                    under(fault, () -> punctual.timers().update(request))
                            .timer()
                            .tags()
                            .size());
            return;
        }
        PunctualException failure = assertThrows(
                ConflictException.class,
                () -> under(fault, () -> punctual.timers().update(request)));
        assertEquals("revisionMismatch", failure.code());
        if (!fault.equals("duplicate")) assertEquals(Written.UNKNOWN, failure.written());
    }

    @ParameterizedTest(name = "a call that must not happen twice is sent once: {0}")
    @ValueSource(strings = {"cutAfter", "hold"})
    void once(String fault) {
        Timers timers = punctual.timers();
        String tag = Punctual.newTimerId();
        timers.create(timer(Punctual.newTimerId(), NOWHERE).tags(tag));
        long before = proxy.requests();
        CancelManyTimers request = new CancelManyTimers().filter(new TimerFilter().tag(tag));
        PunctualException failure =
                assertThrows(PunctualException.class, () -> under(fault, () -> timers.cancelMany(request)));
        assertEquals(Written.UNKNOWN, failure.written());
        assertTrue(failure.isRetryable());
        assertEquals(before + 1, proxy.requests());
        assertEquals(0, timers.count(new CountTimers().tag(tag)).count());
    }

    @Test
    @DisplayName("an interrupt ends a call, and says that it may have been carried out")
    void interrupted() throws InterruptedException {
        String timerId = Punctual.newTimerId();
        CreateTimer request = new CreateTimer().timerId(timerId).delay("1h").callbackUrl(NOWHERE);
        AtomicReference<PunctualException> failure = new AtomicReference<>();
        proxy.faults("hold");
        Thread caller = new Thread(() -> {
            try {
                punctual.withTimeout(Duration.ofMinutes(1)).timers().create(request);
            } catch (PunctualException thrown) {
                failure.set(thrown);
            }
        });
        caller.start();
        // The service has the timer, and the client still waits for the answer.
        while (caller.isAlive() && found(timerId).isEmpty()) Thread.onSpinWait();
        caller.interrupt();
        caller.join();
        assertNotEquals(null, failure.get());
        assertEquals("aborted", failure.get().code());
        assertEquals(Written.UNKNOWN, failure.get().written());
    }

    private static Optional<Timer> found(String timerId) {
        try {
            return Optional.of(service.punctual().timers().get(timerId));
        } catch (NotFoundException notYet) {
            return Optional.empty();
        }
    }
}
