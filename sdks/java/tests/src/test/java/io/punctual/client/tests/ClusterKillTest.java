package io.punctual.client.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.punctual.client.CreateTimer;
import io.punctual.client.ListTimers;
import io.punctual.client.Punctual;
import io.punctual.client.Timer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;

/** 1,000 creates through the client while one of three nodes is killed: no timer is lost, and none is there twice. */
@EnabledIf(value = "io.punctual.client.tests.Harness#isAvailable", disabledReason = Harness.MISSING)
class ClusterKillTest {
    private static final int CREATES = 1_000;
    private static final int IN_PARALLEL = 20;
    private static final int KILL_AFTER = 300;

    private record Numbered(int number) {}

    @Test
    @DisplayName("every create ends well, and makes one timer, while a node of three is killed")
    void everyCreateEndsWell() throws InterruptedException, ExecutionException {
        try (Harness.Cluster cluster = Harness.Cluster.start()) {
            Punctual punctual = Punctual.builder()
                    .url("http://nodes.test")
                    .withoutKey()
                    .namespace("billing")
                    .timeout(Duration.ofSeconds(8))
                    // The shards of the dead node move when its lease ends. These tries last longer than that.
                    .maxRetries(20)
                    .httpClient(new OverNodes(cluster.urls()))
                    .build();
            createAll(punctual, cluster);

            List<Integer> numbers = new ArrayList<>();
            for (Timer timer :
                    punctual.timers().list(new ListTimers().includePayload()).withPageSize(500)) {
                numbers.add(timer.payload(Numbered.class).orElseThrow().number());
            }
            assertEquals(CREATES, numbers.size());
            assertEquals(CREATES, new HashSet<>(numbers).size());
        }
    }

    private static void createAll(Punctual punctual, Harness.Cluster cluster)
            throws InterruptedException, ExecutionException {
        ExecutorService lanes = Executors.newFixedThreadPool(IN_PARALLEL);
        AtomicInteger done = new AtomicInteger();
        try {
            List<Future<?>> creates = new ArrayList<>();
            for (int number = 0; number < CREATES; number++) {
                Numbered payload = new Numbered(number);
                creates.add(lanes.submit(() -> {
                    punctual.timers()
                            .create(new CreateTimer()
                                    .delay("1h")
                                    .callbackUrl("http://127.0.0.1:9/")
                                    .payload(payload));
                    if (done.incrementAndGet() == KILL_AFTER) cluster.kill(2);
                }));
            }
            for (Future<?> create : creates) create.get();
        } finally {
            lanes.shutdownNow();
        }
    }
}
