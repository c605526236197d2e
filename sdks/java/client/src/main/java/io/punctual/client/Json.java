package io.punctual.client;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A JSON value with its exact text. Numbers of any size and the order of members stay as they are, so a payload that
 * passes through a program does not change.
 *
 * <pre>{@code
 * Json exact = Json.parse("{\"id\":12345678901234567890}");
 * Json same = Json.of(Map.of("id", new BigInteger("12345678901234567890")));
 * }</pre>
 *
 * Two values are equal if their texts are equal.
 */
public final class Json {
    /** The value {@code null}. */
    public static final Json NULL = new Json("null");

    private final String text;

    private Json(String text) {
        this.text = text;
    }

    /** Text that is known to be valid, without space around it. */
    static Json ofValid(String text) {
        return new Json(text);
    }

    /**
     * The value of a JSON text.
     *
     * @param text one JSON value, at most 500 brackets deep
     * @return the value, with this text
     * @throws IllegalArgumentException if the text is not JSON
     */
    public static Json parse(String text) {
        return new Json(JsonScanner.valid(text));
    }

    /**
     * The JSON of a value: maps, lists, records, texts, numbers, booleans, enums, instants, durations and {@code null}.
     * If Jackson is on the class path or module path, it writes your own classes and records.
     *
     * @param value the value to write
     * @return its JSON
     * @throws IllegalArgumentException if the value has no JSON form
     */
    public static Json of(Object value) {
        return value instanceof Json json ? json : new Json(JsonWriter.textOf(value));
    }

    /**
     * The exact text.
     *
     * @return valid JSON
     */
    public String text() {
        return text;
    }

    /**
     * Whether this is {@code null}.
     *
     * @return true for the JSON value null
     */
    public boolean isNull() {
        return text.equals("null");
    }

    /**
     * Whether this is an object.
     *
     * @return true for an object
     */
    public boolean isObject() {
        return text.startsWith("{");
    }

    /**
     * The members of an object, in their order. If a name is there twice, the last one counts.
     *
     * @return the members by name
     * @throws IllegalArgumentException if this is no object
     */
    public Map<String, Json> members() {
        return new JsonScanner(text).members();
    }

    /**
     * The items of an array.
     *
     * @return the items in their order
     * @throws IllegalArgumentException if this is no array
     */
    public List<Json> items() {
        return new JsonScanner(text).items();
    }

    /**
     * One member of an object.
     *
     * @param name the name of the member
     * @return the member; empty if this is no object, or has no such member
     */
    public Optional<Json> get(String name) {
        return isObject() ? Optional.ofNullable(members().get(name)) : Optional.empty();
    }

    /**
     * The value in plain Java: {@code Map}, {@code List}, {@code String}, {@code Boolean}, {@code null}, and numbers as
     * {@code Long}, {@code BigInteger} or {@code BigDecimal}.
     *
     * @return the value, which cannot be changed
     * @throws IllegalArgumentException if a number has more than 1,000 characters
     */
    public Object value() {
        return new JsonScanner(text).value();
    }

    /**
     * The value as a type of your own: a record, a text, a number, an enum, an instant, a duration. If Jackson is on
     * the class path or module path, it reads your own classes and records.
     *
     * @param <T> the type
     * @param type the class of the type
     * @return the value
     * @throws IllegalArgumentException if the JSON does not fit the type; the message names the member
     */
    public <T> T as(Class<T> type) {
        return JsonMapping.read(this, type);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Json json && json.text.equals(text);
    }

    @Override
    public int hashCode() {
        return text.hashCode();
    }

    /** The exact text. */
    @Override
    public String toString() {
        return text;
    }
}
