package io.punctual.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.RecordComponent;
import java.math.BigDecimal;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** Compares values with what a case expects. */
final class Matching {
    private Matching() {}

    /** JSON as a value: the order of members and the form of numbers do not matter. */
    static Object plain(Object value) {
        if (value instanceof Json json) return plain(json.value());
        if (value instanceof Number number) return new BigDecimal(number.toString()).stripTrailingZeros();
        if (value instanceof List<?> list)
            return list.stream().map(Matching::plain).toList();
        if (!(value instanceof Map<?, ?> map)) return value;
        Map<Object, Object> members = new HashMap<>();
        map.forEach((name, member) -> members.put(name, plain(member)));
        return members;
    }

    /** A request, with the marks for any value and for new ids. */
    static void assertSent(Json expected, Json sent) {
        if (expected.get("$anything").isPresent()) return;
        if (expected.get("$uuidV7").isPresent()) {
            String hex = String.format(
                    "%012x", Instant.parse(Cases.text(expected, "$uuidV7")).toEpochMilli());
            String start = hex.substring(0, 8) + "-" + hex.substring(8);
            assertTrue(
                    sent.as(String.class).matches(start + "-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"), sent.text());
            return;
        }
        if (!expected.isObject() && !expected.text().startsWith("[")) {
            assertEquals(plain(expected), plain(sent));
            return;
        }
        if (expected.isObject()) {
            assertEquals(expected.members().keySet(), sent.members().keySet());
            expected.members()
                    .forEach((name, member) -> assertSent(member, sent.members().get(name)));
            return;
        }
        assertEquals(expected.items().size(), sent.items().size());
        for (int at = 0; at < expected.items().size(); at++)
            assertSent(expected.items().get(at), sent.items().get(at));
    }

    /** An answer: its components have the values of the expected members, and {@code json} has all of them. */
    static void assertAnswer(Json expected, Object actual) {
        if (actual instanceof List<?> list) {
            assertEquals(expected.items().size(), list.size());
            for (int at = 0; at < list.size(); at++)
                assertAnswer(expected.items().get(at), list.get(at));
        } else if (actual instanceof Map<?, ?> map) {
            expected.members().forEach((name, member) -> assertMember(name, member, map.get(name)));
        } else {
            assertRecord(expected, (Record) actual);
        }
    }

    private static void assertRecord(Json expected, Record actual) {
        for (RecordComponent component : actual.getClass().getRecordComponents()) {
            Object found = JsonMapping.componentOf(actual, component);
            String name = component.getName();
            if (name.equals("json")) {
                Map<String, Json> kept = ((Json) found).members();
                assertTrue(kept.keySet().containsAll(expected.members().keySet()), "the whole object is kept");
            } else if (expected.get(name).isPresent()) {
                assertMember(name, expected.get(name).get(), found);
            } else {
                assertTrue(isAbsent(found), name + " is absent");
            }
        }
    }

    private static void assertMember(String name, Json expected, Object found) {
        if (found instanceof Optional<?> optional) {
            assertMember(name, expected, optional.orElse(null));
        } else if (found instanceof OptionalInt optional) {
            assertMember(name, expected, optional.getAsInt());
        } else if (found instanceof OptionalLong optional) {
            assertMember(name, expected, optional.getAsLong());
        } else if (expected.get("$raw").isPresent()) {
            assertEquals(Cases.text(expected, "$raw"), ((Json) found).text(), name);
        } else if (found instanceof Record inner && !(found instanceof HandlerTarget)) {
            assertRecord(expected, inner);
        } else if (!(found instanceof Enum<?> word && word.name().equals("UNKNOWN"))) {
            assertEquals(plain(expected), plain(Json.of(found)), name);
        }
    }

    private static boolean isAbsent(Object found) {
        return found.equals(Optional.empty())
                || found.equals(OptionalInt.empty())
                || found.equals(OptionalLong.empty())
                || found.equals(List.of())
                || found.equals(Map.of())
                || found.equals(false);
    }
}
