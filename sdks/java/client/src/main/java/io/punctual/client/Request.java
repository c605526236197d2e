package io.punctual.client;

import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The fields of a request. A request is a builder: its methods change it and return it, and a call sends a copy.
 *
 * @param <R> the class of the request
 */
public abstract class Request<R extends Request<R>> {
    private final Class<R> type;
    private final Map<String, Object> fields = new LinkedHashMap<>();

    /**
     * A request without fields.
     *
     * @param type the class of the request
     */
    protected Request(Class<R> type) {
        this.type = type;
    }

    /**
     * Sets a field by its name in the contract, for fields that this version does not know.
     *
     * @param name the name of the field
     * @param value its value, as {@link Json#of} takes it; {@code null} is sent as null
     * @return this request
     */
    public R set(String name, Object value) {
        fields.put(name, value);
        return type.cast(this);
    }

    /**
     * Sets a field, or leaves it out.
     *
     * @param name the name of the field
     * @param value its value; {@code null} leaves the field out
     * @return this request
     */
    protected R put(String name, Object value) {
        if (value == null) fields.remove(name);
        else fields.put(name, value);
        return type.cast(this);
    }

    /**
     * Sets a duration, and refuses one that the service cannot have.
     *
     * @param name the name of the field
     * @param duration its value; {@code null} leaves the field out
     * @return this request
     */
    protected R putDuration(String name, Duration duration) {
        return put(name, duration == null ? null : textOf(name, duration));
    }

    static String textOf(String name, Duration duration) {
        try {
            return Durations.text(duration);
        } catch (IllegalArgumentException wrong) {
            throw Failures.refusedHere(name, wrong.getMessage());
        }
    }

    /**
     * The fields, as they are now.
     *
     * @return a copy
     */
    public Map<String, Object> fields() {
        return Collections.unmodifiableMap(new LinkedHashMap<>(fields));
    }

    /** The names of the fields, without their values: a payload must not get into logs. */
    @Override
    public String toString() {
        return getClass().getSimpleName() + fields.keySet();
    }
}
