package io.punctual.client;

import io.punctual.client.admin.BulkFilterInput;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** Fills a request from JSON through its own methods, as a program would. */
final class Filling {
    private static final Map<Class<?>, Supplier<Request<?>>> INNER = Map.of(
            TimerFilter.class, TimerFilter::new,
            RetryPolicyInput.class, RetryPolicyInput::new,
            BulkFilterInput.class, BulkFilterInput::new);

    private Filling() {}

    static <R extends Request<?>> R fill(R request, Map<String, ?> fields) {
        fields.forEach((name, value) -> setField(request, name, value));
        return request;
    }

    private static void setField(Request<?> request, String name, Object value) {
        List<Method> setters = Arrays.stream(request.getClass().getMethods())
                .filter(method -> method.getName().equals(name) && !method.isVarArgs() && !method.isBridge())
                .toList();
        for (Method setter : setters) {
            Class<?>[] types = setter.getParameterTypes();
            if (types.length == 0 && Boolean.TRUE.equals(value)) {
                invoke(setter, request);
                return;
            }
            Object[] argument = types.length == 1 ? argumentOf(types[0], value) : null;
            if (argument != null) {
                invoke(setter, request, argument);
                return;
            }
        }
        throw new AssertionError(request.getClass().getSimpleName() + " has no method for " + name + " = " + value);
    }

    /** The value as this type, in an array because it may be null; null if it does not fit. */
    private static Object[] argumentOf(Class<?> type, Object value) {
        if (value == null)
            return type == Collection.class || type == Object.class || Request.class.isAssignableFrom(type)
                    ? one(null)
                    : null;
        if (type == Object.class || type.isInstance(value)) return one(value);
        if (type == TargetInput.class && value instanceof Map<?, ?> map) return one(targetOf(map));
        if (INNER.containsKey(type) && value instanceof Map<?, ?> map)
            return one(fill(INNER.get(type).get(), keyed(map)));
        if (value instanceof String || value instanceof Number || value instanceof Boolean) {
            if (type.isEnum() || type.isPrimitive() || Number.class.isAssignableFrom(type) || type == Boolean.class) {
                return one(Json.of(value).as(type));
            }
        }
        return null;
    }

    private static TargetInput targetOf(Map<?, ?> map) {
        Map<String, Object> fields = keyed(map);
        if (fields.remove("type").equals("event")) return TargetInput.event();
        return fill(TargetInput.webhook((String) fields.remove("url")), fields);
    }

    private static Map<String, Object> keyed(Map<?, ?> map) {
        return CompleteRequest.fieldsOf(map);
    }

    private static Object[] one(Object value) {
        return new Object[] {value};
    }

    private static void invoke(Method setter, Object request, Object... arguments) {
        try {
            setter.invoke(request, arguments);
        } catch (InvocationTargetException failure) {
            if (failure.getCause() instanceof RuntimeException cause) throw cause;
            throw new IllegalStateException(failure);
        } catch (IllegalAccessException failure) {
            throw new IllegalStateException(failure);
        }
    }
}
