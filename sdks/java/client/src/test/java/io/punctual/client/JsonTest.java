package io.punctual.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("JSON")
class JsonTest {
    record Line(String article, int count, Optional<String> note) {}

    record Order(
            long id,
            List<Line> lines,
            Map<String, Integer> stock,
            Instant at,
            Duration pause,
            boolean isPaid,
            Color color) {}

    enum Color {
        RED,
        BLUE
    }

    @Test
    @DisplayName("keeps every byte of a text, and its numbers exact")
    void exact() {
        String text = "{ \"n\": 12345678901234567890.10, \"e\":1E400, \"n\":[1.0] }";
        assertEquals(text, Json.parse("\n" + text + "\t").text());
        assertEquals("[1.0]", Json.parse(text).get("n").orElseThrow().text());
        assertEquals(
                new BigDecimal("1E400"), Json.parse(text).get("e").orElseThrow().value());
        assertEquals(
                new BigInteger("12345678901234567890"),
                Json.parse("12345678901234567890").value());
        assertEquals(
                List.of(-1L, 0L, new BigDecimal("1.50")),
                Json.parse("[-1,0,1.50]").value());
    }

    @Test
    @DisplayName("refuses what RFC 8259 refuses, without showing the text")
    void refuses() {
        for (String wrong : List.of(
                "",
                " ",
                "{",
                "[1,]",
                "{\"a\":1,}",
                "{a:1}",
                "'a'",
                "01",
                "1.",
                ".5",
                "+1",
                "1e",
                "-",
                "nul",
                "tru",
                "\"a",
                "\"\\x\"",
                "\"\\u12g4\"",
                "\"\n\"",
                "1 2",
                "[1 2]",
                "{\"a\" 1}",
                "NaN",
                "\"\\u١٢٣٤\"")) {
            Throwable refused = assertThrows(IllegalArgumentException.class, () -> Json.parse(wrong), wrong);
            assertTrue(wrong.length() < 4 || !refused.getMessage().contains(wrong), refused.getMessage());
        }
    }

    @Test
    @DisplayName("has limits for depth and for numbers")
    void limits() {
        String deep = "[".repeat(500) + "]".repeat(500);
        assertEquals(deep, Json.parse(deep).text());
        assertThrows(IllegalArgumentException.class, () -> Json.parse("[" + deep + "]"));
        assertThrows(IllegalArgumentException.class, () -> Json.parse("[".repeat(1_000_000)));
        Json longNumber = Json.parse("1".repeat(1_001));
        assertThrows(IllegalArgumentException.class, longNumber::value);
        assertThrows(
                IllegalArgumentException.class, () -> Json.parse("1e999999999").as(long.class));
        List<Object> circle = new ArrayList<>();
        circle.add(circle);
        assertThrows(IllegalArgumentException.class, () -> Json.of(circle));
    }

    @Test
    @DisplayName("reads and writes texts with every character")
    void texts() {
        StringBuilder all = new StringBuilder();
        for (char character = 0; character < 0x250; character++) all.append(character);
        String text = all.append("🙂\ud800x\udc00\u2028").toString();
        assertEquals(text, Json.of(text).as(String.class));
        assertEquals("\"\\ud800\"", Json.of("\ud800").text());
        assertEquals("\"\\u0000\\n\"", Json.of("\0\n").text());
        assertEquals(
                "aä\"\\/\b\f\n\r\t",
                Json.parse("\"a\\u00e4\\\"\\\\\\/\\b\\f\\n\\r\\t\"").value());
    }

    @Test
    @DisplayName("writes what it reads, for random values")
    void roundTrips() {
        Random random = new Random(7);
        for (int run = 0; run < 500; run++) {
            Object value = randomValue(random, 4);
            Json written = Json.of(value);
            assertEquals(value, written.value());
            assertEquals(written, Json.parse(written.text()));
        }
    }

    private static Object randomValue(Random random, int depth) {
        return switch (random.nextInt(depth == 0 ? 5 : 7)) {
            case 0 -> random.nextLong() >> random.nextInt(60) >> 4;
            case 1 -> random.nextBoolean();
            case 2 -> String.valueOf((char) random.nextInt(0xd000)).repeat(random.nextInt(4));
            case 3 -> new BigDecimal(new BigInteger(80, random), 1 + random.nextInt(20));
            case 4 -> "text";
            case 5 -> List.of(randomValue(random, depth - 1), randomValue(random, depth - 1));
            default -> Map.of("a" + random.nextInt(9), randomValue(random, depth - 1));
        };
    }

    @Test
    @DisplayName("maps records, and ignores members that they do not have")
    void records() {
        Order order = new Order(
                7,
                List.of(new Line("tea", 2, Optional.of("green")), new Line("cup", 1, Optional.empty())),
                Map.of("tea", 9),
                Instant.parse("2030-01-01T00:00:00Z"),
                Duration.ofMinutes(90),
                true,
                Color.BLUE);
        String text = Json.of(order).text();
        assertEquals(
                "{\"id\":7,\"lines\":[{\"article\":\"tea\",\"count\":2,\"note\":\"green\"},{\"article\":\"cup\",\"count\":1}],"
                    + "\"stock\":{\"tea\":9},\"at\":\"2030-01-01T00:00:00.000Z\",\"pause\":\"1h30m\",\"isPaid\":true,\"color\":\"BLUE\"}",
                text);
        assertEquals(
                order,
                Json.parse(text.replace("\"id\":7", "\"id\":7,\"more\":{}")).as(Order.class));
    }

    @Test
    @DisplayName("names the member that does not fit")
    void misfits() {
        for (String[] pair : new String[][] {
            {"{\"article\":\"a\",\"count\":\"x\"}", "count must be a number"},
            {"{\"article\":\"a\",\"count\":1.5}", "count must be a whole number"},
            {"{\"article\":\"a\",\"count\":99999999999}", "count must be a whole number"},
            {"{\"article\":\"a\"}", "count is missing"},
            {"{\"article\":7,\"count\":1}", "article must be a text"},
            {"[]", "must be an object"},
        }) {
            Throwable misfit = assertThrows(
                    IllegalArgumentException.class, () -> Json.parse(pair[0]).as(Line.class));
            assertTrue(misfit.getMessage().contains(pair[1]), Arrays.toString(pair) + misfit.getMessage());
        }
    }

    @Test
    @DisplayName("a text that is no instant is refused without showing it, also not in the cause")
    void misfitInstant() {
        Throwable misfit = assertThrows(IllegalArgumentException.class, () -> Json.parse("\"secret\"")
                .as(Instant.class));
        assertEquals("the value must be an instant", misfit.getMessage());
        assertNull(misfit.getCause());
    }

    @Test
    @DisplayName("refuses values without a JSON form")
    void noForm() {
        assertThrows(IllegalArgumentException.class, () -> Json.of(Double.NaN));
        assertThrows(IllegalArgumentException.class, () -> Json.of(Map.of("a", new Object())));
        assertEquals("[1.5,null,\"x\"]", Json.of(Arrays.asList(1.5, null, 'x')).text());
    }
}
