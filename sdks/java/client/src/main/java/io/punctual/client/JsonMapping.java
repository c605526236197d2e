package io.punctual.client;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;

/**
 * JSON to records, by the names of their components. The answers of the service are records, so this file is all that
 * is needed to read them. Members that a record does not have are ignored; a component {@code Json json} gets the whole
 * object.
 */
final class JsonMapping {
    /** Answers of the service. Jackson does not know their parts that may be absent. */
    private static final Set<String> OWN_PACKAGES =
            Set.of("io.punctual.client", "io.punctual.client.admin", "io.punctual.client.webhooks");

    private JsonMapping() {}

    static <T> T read(Json json, Class<T> type) {
        Object value = readType(json, type, "");
        // A class of a primitive type cannot cast its own values.
        @SuppressWarnings("unchecked")
        T typed = type.isPrimitive() ? (T) value : type.cast(value);
        return typed;
    }

    /** The value of a component, also if its record is not public. */
    static Object componentOf(Record value, RecordComponent component) {
        try {
            component.getAccessor().setAccessible(true);
            return component.getAccessor().invoke(value);
        } catch (ReflectiveOperationException | RuntimeException failure) {
            throw notReadable(value.getClass(), failure);
        }
    }

    private static Object readType(Json json, Type type, String path) {
        if (type instanceof Class<?> plain) return readClass(json, plain, path);
        if (type instanceof ParameterizedType generic) {
            Type[] arguments = generic.getActualTypeArguments();
            if (generic.getRawType() == List.class) return readList(json, arguments[0], path);
            if (generic.getRawType() == Map.class) return readMap(json, arguments[1], path);
            if (generic.getRawType() == Optional.class) return Optional.ofNullable(readType(json, arguments[0], path));
        }
        throw new IllegalArgumentException(path + " has a type that cannot be read from JSON: " + type);
    }

    private static Object readClass(Json json, Class<?> type, String path) {
        if (type == Json.class) return json;
        if (type == Object.class) return at(path, json::value);
        if (json.isNull()) {
            if (type.isPrimitive()) throw new IllegalArgumentException(named(path) + "must not be null");
            return null;
        }
        if (type == boolean.class || type == Boolean.class) return readBoolean(json, path);
        if (Number.class.isAssignableFrom(type) || type.isPrimitive()) return readNumber(json, type, path);
        if (type == OptionalInt.class) return OptionalInt.of((Integer) readNumber(json, int.class, path));
        if (type == OptionalLong.class) return OptionalLong.of((Long) readNumber(json, long.class, path));
        if (type == List.class) return readList(json, Object.class, path);
        if (type == Map.class) return readMap(json, Object.class, path);
        if (type == String.class) return readString(json, path);
        if (type == Instant.class) return readInstant(json, path);
        if (type == Duration.class) return readDuration(json, path);
        if (isOwn(type)) return readOwn(json, type, path);
        if (JacksonJson.isPresent()) return JacksonJson.read(json.text(), type);
        if (type.isEnum()) return readEnum(json, type, path);
        if (type.isRecord()) return readRecord(json, type, path);
        throw new IllegalArgumentException(
                type.getName() + " cannot be read from JSON: use a record, or add Jackson (jackson-databind)");
    }

    private static boolean isOwn(Class<?> type) {
        return OWN_PACKAGES.contains(type.getPackageName());
    }

    private static Object readOwn(Json json, Class<?> type, String path) {
        if (type.isEnum()) return readEnum(json, type, path);
        return readRecord(json, type.isSealed() ? kindOf(json, type) : type, path);
    }

    /** Which record of a sealed type this is. A kind that this version does not know is the last one. */
    private static Class<?> kindOf(Json json, Class<?> type) {
        if (type == Target.class) {
            return switch (json.get("type").map(Json::text).orElse("")) {
                case "\"webhook\"" -> WebhookTarget.class;
                case "\"event\"" -> EventTarget.class;
                case "\"handler\"" -> HandlerTarget.class;
                default -> OtherTarget.class;
            };
        }
        if (type == Retries.class) return json.get("waits").isPresent() ? RetryWaits.class : RetryPolicy.class;
        return json.get("problem").isPresent() ? FailedItem.class : CreatedItem.class;
    }

    private static Object readRecord(Json json, Class<?> type, String path) {
        Map<String, Json> members = at(path, json::members);
        RecordComponent[] components = type.getRecordComponents();
        Class<?>[] types = new Class<?>[components.length];
        Object[] values = new Object[components.length];
        for (int at = 0; at < components.length; at++) {
            RecordComponent component = components[at];
            String name = component.getName();
            String inner = path.isEmpty() ? name : path + "." + name;
            Json member = name.equals("json") && component.getType() == Json.class ? json : members.get(name);
            types[at] = component.getType();
            values[at] =
                    member == null ? absent(component, inner) : readType(member, component.getGenericType(), inner);
        }
        try {
            Constructor<?> constructor = type.getDeclaredConstructor(types);
            constructor.setAccessible(true);
            return constructor.newInstance(values);
        } catch (InvocationTargetException refused) {
            throw new IllegalArgumentException(named(path) + "is refused by " + type.getName(), refused.getCause());
        } catch (ReflectiveOperationException | RuntimeException failure) {
            throw notReadable(type, failure);
        }
    }

    /** What a component is if the JSON does not have it. Texts, numbers and records must be there. */
    private static Object absent(RecordComponent component, String path) {
        Class<?> type = component.getType();
        if (type == Optional.class) return Optional.empty();
        if (type == OptionalInt.class) return OptionalInt.empty();
        if (type == OptionalLong.class) return OptionalLong.empty();
        if (type == List.class) return List.of();
        if (type == Map.class) return Map.of();
        if (type == boolean.class) return false;
        throw new IllegalArgumentException(path + " is missing");
    }

    private static Object readBoolean(Json json, String path) {
        if (at(path, json::value) instanceof Boolean flag) return flag;
        throw new IllegalArgumentException(named(path) + "must be true or false");
    }

    private static Object readNumber(Json json, Class<?> type, String path) {
        if (!(at(path, json::value) instanceof Number number)) {
            throw new IllegalArgumentException(named(path) + "must be a number");
        }
        BigDecimal exact = number instanceof BigDecimal decimal ? decimal : new BigDecimal(number.toString());
        if (type == double.class || type == Double.class) return exact.doubleValue();
        if (type == float.class || type == Float.class) return exact.floatValue();
        if (type == BigDecimal.class) return exact;
        // A number such as 1e999999999 would fill the memory.
        if (exact.precision() - (long) exact.scale() > 1_000)
            throw new IllegalArgumentException(named(path) + "is too large");
        try {
            if (type == int.class || type == Integer.class) return exact.intValueExact();
            if (type == long.class || type == Long.class) return exact.longValueExact();
            if (type == BigInteger.class) return exact.toBigIntegerExact();
            if (type == Number.class) return number;
        } catch (ArithmeticException inexact) {
            throw new IllegalArgumentException(
                    named(path) + "must be a whole number that fits " + type.getSimpleName(), inexact);
        }
        throw new IllegalArgumentException(named(path) + "has a type that cannot be read from JSON: " + type.getName());
    }

    private static String readString(Json json, String path) {
        return at(path, () -> new JsonScanner(json.text()).string());
    }

    private static Instant readInstant(Json json, String path) {
        try {
            return OffsetDateTime.parse(readString(json, path)).toInstant();
        } catch (DateTimeParseException wrong) {
            // Without its cause, which shows the text: payloads must not get into logs.
            throw new IllegalArgumentException(named(path) + "must be an instant");
        }
    }

    private static Duration readDuration(Json json, String path) {
        return Durations.parse(readString(json, path))
                .orElseThrow(() -> new IllegalArgumentException(named(path) + "must be a duration"));
    }

    /** The constant with this text. Enums of this library have UNKNOWN for what a newer service may say. */
    private static Object readEnum(Json json, Class<?> type, String path) {
        String text = readString(json, path);
        Object unknown = null;
        for (Object constant : type.getEnumConstants()) {
            if (constant.toString().equals(text)) return constant;
            if (((Enum<?>) constant).name().equals("UNKNOWN")) unknown = constant;
        }
        if (unknown == null)
            throw new IllegalArgumentException(named(path) + "is none of the values of " + type.getName());
        return unknown;
    }

    private static List<Object> readList(Json json, Type item, String path) {
        List<Object> items = new ArrayList<>();
        for (Json element : at(path, json::items)) items.add(readType(element, item, path + "[" + items.size() + "]"));
        return Collections.unmodifiableList(items);
    }

    private static Map<String, Object> readMap(Json json, Type member, String path) {
        Map<String, Object> members = new LinkedHashMap<>();
        at(path, json::members).forEach((name, value) -> members.put(name, readType(value, member, path + "." + name)));
        return Collections.unmodifiableMap(members);
    }

    private interface Reading<T> {
        T read();
    }

    /** Adds the place to the message of a failure. */
    private static <T> T at(String path, Reading<T> reading) {
        try {
            return reading.read();
        } catch (IllegalArgumentException wrong) {
            throw new IllegalArgumentException(named(path) + wrong.getMessage(), wrong);
        }
    }

    private static String named(String path) {
        return path.isEmpty() ? "the value " : path + " ";
    }

    private static IllegalArgumentException notReadable(Class<?> type, Exception failure) {
        return new IllegalArgumentException(
                type.getName() + " is not accessible: make it public, or open its package to io.punctual.client",
                failure);
    }
}
