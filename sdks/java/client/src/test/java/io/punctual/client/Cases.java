package io.punctual.client;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** The files of sdks/conformance, and the values that JSON does not have. */
public final class Cases {
    private static final Path FOLDER = Path.of(System.getProperty("basedir", ""))
            .toAbsolutePath()
            .resolve("../../conformance")
            .normalize();

    private Cases() {}

    public static Json file(String name) {
        try {
            return Json.parse(Files.readString(FOLDER.resolve(name)));
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    /** The names of all files with cases, without their ending. */
    public static List<String> names() {
        try (Stream<Path> files = Files.list(FOLDER.resolve("cases"))) {
            return files.map(file -> file.getFileName().toString().replace(".json", ""))
                    .sorted()
                    .toList();
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    public static List<Json> of(String name) {
        return file("cases/" + name + ".json").get("cases").orElseThrow().items();
    }

    public static String text(Json value, String name) {
        return value.get(name).map(found -> found.as(String.class)).orElse(null);
    }

    public static Map<String, Json> members(Json value, String name) {
        return value.get(name).map(Json::members).orElse(Map.of());
    }

    /** Instants and raw JSON are marked, because JSON has no such values. */
    public static Object nativeOf(Json value) {
        if (value.text().startsWith("["))
            return value.items().stream().map(Cases::nativeOf).toList();
        if (!value.isObject()) return value.value();
        if (value.get("$instant").isPresent()) return Instant.parse(text(value, "$instant"));
        if (value.get("$raw").isPresent()) return Json.parse(text(value, "$raw"));
        Map<String, Object> members = new LinkedHashMap<>();
        value.members().forEach((name, member) -> members.put(name, nativeOf(member)));
        return members;
    }
}
