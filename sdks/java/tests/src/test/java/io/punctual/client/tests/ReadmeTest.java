package io.punctual.client.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.punctual.client.testing.TestService;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;

/** Runs every program of the README as it is, and compares what it prints. */
class ReadmeTest {
    private static final Path FOLDER = Path.of(System.getProperty("basedir", ""))
            .toAbsolutePath()
            .resolve("..")
            .normalize();
    private static final Pattern BLOCK = Pattern.compile("^```(\\w+)\n(.*?)^```$", Pattern.MULTILINE | Pattern.DOTALL);
    private static final String PRINTED = "<!-- printed by: the program above -->\n";

    @TempDir
    static Path work;

    private static TestService service;

    private record Program(int line, String source, String printed) {}

    @BeforeAll
    static void start() {
        if (TestService.isAvailable())
            service = TestService.builder().namespace("billing").start();
    }

    @AfterAll
    static void stop() {
        if (service != null) service.close();
    }

    private static String readme() throws IOException {
        return Files.readString(FOLDER.resolve("README.md"));
    }

    private static List<Program> programs() throws IOException {
        String text = readme();
        List<Program> programs = new ArrayList<>();
        for (Matcher block = BLOCK.matcher(text); block.find(); ) {
            if (!block.group(1).equals("java")) continue;
            int line = (int) text.substring(0, block.start()).lines().count() + 1;
            String after = text.substring(block.end()).stripLeading();
            Matcher output = BLOCK.matcher(after);
            boolean prints = after.startsWith(PRINTED) && output.find();
            programs.add(new Program(line, block.group(2), prints ? output.group(2) : ""));
        }
        return programs;
    }

    @TestFactory
    @EnabledIf(
            value = "io.punctual.client.testing.TestService#isAvailable",
            disabledReason = "there is no program punctual: set PUNCTUAL_EXECUTABLE")
    @DisplayName("every program of the README prints what the README says")
    Stream<DynamicTest> everyProgram() throws IOException {
        List<Program> programs = programs();
        assertTrue(programs.size() >= 6, "the README has its programs");
        return programs.stream()
                .map(program -> DynamicTest.dynamicTest(
                        "README.md:" + program.line(), () -> assertEquals(program.printed(), output(program))));
    }

    @Test
    @DisplayName("the README names the artifacts that exist")
    void artifacts() throws IOException {
        Matcher artifacts =
                Pattern.compile("<artifactId>([\\w-]+)</artifactId>").matcher(readme());
        int found = 0;
        while (artifacts.find()) {
            found++;
            String folder = artifacts.group(1).equals("punctual-client")
                    ? "client"
                    : artifacts.group(1).replace("punctual-client-", "");
            assertTrue(
                    Files.readString(FOLDER.resolve(folder).resolve("pom.xml")).contains(artifacts.group()));
        }
        assertTrue(found > 0);
    }

    /** The statements become a program: the imports first, the rest in its main method. */
    private static String output(Program program) throws IOException, InterruptedException {
        Map<Boolean, List<String>> lines =
                program.source().lines().collect(Collectors.partitioningBy(line -> line.startsWith("import ")));
        String source = String.join("\n", lines.get(true))
                + "\nclass Program {\n  public static void main(String[] args) throws Exception {\n"
                + String.join("\n", lines.get(false)) + "\n  }\n}\n";
        Path file = Files.writeString(work.resolve("Program" + program.line() + ".java"), source);
        Path printed = work.resolve("printed" + program.line());
        Path complaints = work.resolve("complaints" + program.line());
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        ProcessBuilder command = new ProcessBuilder(
                        java, "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"), file.toString())
                .redirectError(complaints.toFile())
                .redirectOutput(printed.toFile());
        command.environment().remove("TIMER_API_KEY");
        command.environment().put("TIMER_URL", service.url());
        Process process = command.start();
        try {
            assertTrue(process.waitFor(3, TimeUnit.MINUTES), "the program ends");
        } finally {
            process.destroyForcibly();
        }
        assertEquals(0, process.exitValue(), Files.readString(complaints));
        return Files.readString(printed);
    }
}
