package io.punctual.client;

import java.lang.reflect.RecordComponent;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/** Writes values as JSON. Members of objects that are absent ({@code Optional.empty()}) are left out. */
final class JsonWriter {
    private final StringBuilder out = new StringBuilder();

    private JsonWriter() {}

    static String textOf(Object value) {
        JsonWriter writer = new JsonWriter();
        writer.write(value, 0);
        return writer.out.toString();
    }

    private void write(Object value, int depth) {
        if (depth > JsonScanner.DEPTH_MAX)
            throw new IllegalArgumentException("the value contains itself, or is too deep");
        if (value == null) out.append("null");
        else if (value instanceof Json json) out.append(json.text());
        else if (value instanceof Boolean) out.append(value);
        else if (value instanceof Number number) out.append(numberText(number));
        else if (value instanceof Instant instant) writeString(Durations.instantText(instant));
        else if (value instanceof Duration duration) writeString(Durations.text(duration));
        else if (value instanceof CharSequence
                || value instanceof Character
                || value instanceof UUID
                || value instanceof Enum<?>) {
            writeString(value.toString());
        } else if (value instanceof Optional<?> optional) write(optional.orElse(null), depth);
        else if (value instanceof Request<?> request) write(request.fields(), depth);
        else if (value instanceof Map<?, ?> map) writeObject(map, depth);
        else if (value instanceof Iterable<?> items) writeArray(items, depth);
        else if (value instanceof Object[] items) writeArray(Arrays.asList(items), depth);
        else writeOther(value, depth);
    }

    private void writeOther(Object value, int depth) {
        if (JacksonJson.isPresent()) out.append(JacksonJson.textOf(value));
        else if (value instanceof Record) writeRecord((Record) value, depth);
        else {
            throw new IllegalArgumentException(value.getClass().getName()
                    + " has no JSON form: use a record or a map, or add Jackson (jackson-databind)");
        }
    }

    private void writeObject(Map<?, ?> map, int depth) {
        out.append('{');
        String separator = "";
        for (Map.Entry<?, ?> member : map.entrySet()) {
            separator = writeMember(separator, String.valueOf(member.getKey()), member.getValue(), depth);
        }
        out.append('}');
    }

    private void writeRecord(Record value, int depth) {
        out.append('{');
        String separator = "";
        for (RecordComponent component : value.getClass().getRecordComponents()) {
            Object member = JsonMapping.componentOf(value, component);
            if (member instanceof Optional<?> optional && optional.isEmpty()) continue;
            separator = writeMember(separator, component.getName(), member, depth);
        }
        out.append('}');
    }

    private String writeMember(String separator, String name, Object value, int depth) {
        out.append(separator);
        writeString(name);
        out.append(':');
        write(value, depth + 1);
        return ",";
    }

    private void writeArray(Iterable<?> items, int depth) {
        out.append('[');
        String separator = "";
        for (Object item : items) {
            out.append(separator);
            write(item, depth + 1);
            separator = ",";
        }
        out.append(']');
    }

    private static String numberText(Number number) {
        boolean isExact = number instanceof Long
                || number instanceof Integer
                || number instanceof Short
                || number instanceof Byte
                || number instanceof BigInteger
                || number instanceof BigDecimal;
        if (isExact) return number.toString();
        double value = number.doubleValue();
        if (Double.isNaN(value) || Double.isInfinite(value)) {
            throw new IllegalArgumentException("JSON has no number for " + number);
        }
        return number instanceof Float ? number.toString() : Double.toString(value);
    }

    private void writeString(String text) {
        out.append('"');
        for (int at = 0; at < text.length(); at++) writeCharacter(text, at);
        out.append('"');
    }

    private void writeCharacter(String text, int at) {
        char character = text.charAt(at);
        switch (character) {
            case '"' -> out.append("\\\"");
            case '\\' -> out.append("\\\\");
            case '\n' -> out.append("\\n");
            case '\r' -> out.append("\\r");
            case '\t' -> out.append("\\t");
            default -> {
                if (character < ' ' || isAloneSurrogate(text, at))
                    out.append(String.format("\\u%04x", (int) character));
                else out.append(character);
            }
        }
    }

    /** Half a character has no form in UTF-8, so it would become a question mark. */
    private static boolean isAloneSurrogate(String text, int at) {
        char character = text.charAt(at);
        if (Character.isHighSurrogate(character)) {
            return at + 1 == text.length() || !Character.isLowSurrogate(text.charAt(at + 1));
        }
        return Character.isLowSurrogate(character) && (at == 0 || !Character.isHighSurrogate(text.charAt(at - 1)));
    }
}
