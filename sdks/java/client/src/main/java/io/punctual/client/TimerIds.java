package io.punctual.client;

import java.security.SecureRandom;
import java.util.UUID;

/** Ids of timers that have none: UUIDs of version 7, which sort by their time. */
final class TimerIds {
    private static final SecureRandom RANDOM = new SecureRandom();

    private TimerIds() {}

    /** 48 bits of time and 74 random bits. */
    static String newTimerId(long nowMs) {
        long high = nowMs << 16 | 0x7000 | RANDOM.nextInt(0x1000);
        long low = 0x8000_0000_0000_0000L | RANDOM.nextLong() >>> 2;
        return new UUID(high, low).toString();
    }
}
