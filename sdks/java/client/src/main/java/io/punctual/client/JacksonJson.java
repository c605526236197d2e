package io.punctual.client;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;

/**
 * Your own classes through Jackson, if a program has it. Only this file knows Jackson, and only {@code Mapper} needs
 * it, so that the library works without.
 */
final class JacksonJson {
    private static final boolean IS_PRESENT = isLoadable();

    private JacksonJson() {}

    static boolean isPresent() {
        return IS_PRESENT;
    }

    static String textOf(Object value) {
        return Mapper.textOf(value);
    }

    static Object read(String text, Class<?> type) {
        return Mapper.read(text, type);
    }

    private static boolean isLoadable() {
        try {
            Class.forName("com.fasterxml.jackson.databind.ObjectMapper", false, JacksonJson.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException | LinkageError absent) {
            return false;
        }
    }

    private static final class Mapper {
        private static final ObjectMapper MAPPER = new ObjectMapper()
                .findAndRegisterModules()
                .disable(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS)
                .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
                .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS);

        private static String textOf(Object value) {
            try {
                return MAPPER.writeValueAsString(value);
            } catch (JsonProcessingException failure) {
                throw new IllegalArgumentException(
                        "Jackson cannot write " + value.getClass().getName(), failure);
            }
        }

        private static Object read(String text, Class<?> type) {
            try {
                return MAPPER.readValue(text, type);
            } catch (JsonProcessingException failure) {
                // The message of Jackson has values of the payload, which must not get into logs.
                String place =
                        failure instanceof JsonMappingException misfit ? misfit.getPathReference() : type.getName();
                throw new IllegalArgumentException("Jackson cannot read the payload at " + place);
            }
        }
    }
}
