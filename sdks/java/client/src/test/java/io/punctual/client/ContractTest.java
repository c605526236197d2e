package io.punctual.client;

import static java.util.Map.entry;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.punctual.client.admin.Admin;
import io.punctual.client.admin.Breakers;
import io.punctual.client.admin.Bulk;
import io.punctual.client.admin.Keys;
import io.punctual.client.admin.Messages;
import io.punctual.client.admin.Namespaces;
import io.punctual.client.admin.Service;
import io.punctual.client.admin.Sessions;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** This library has every operation, field, value and code of the OpenAPI document (sdks/conformance/contract.json). */
class ContractTest {
    private static final Json CONTRACT = Cases.file("contract.json");
    private static final Map<String, Json> SCHEMAS = Cases.members(CONTRACT, "schemas");
    private static final String HERE = "io.punctual.client.";

    /** Schemas that this library has in another form, and why. */
    private static final Map<String, String> ELSEWHERE = Map.ofEntries(
            entry("HandlerTargetInput", "only for programs that contain the engine; the service refuses it"),
            entry("EventTargetInput", "TargetInput.event()"),
            entry("WebhookAnswer", "the handler writes it from an Outcome"),
            entry("TimerAnswer", "get answers its only part, the Timer"),
            entry("DeleteTimerAnswer", "cancel answers its only part, the CancelResult"),
            entry("CreateManyTimersAnswer", "createMany answers its only part, the list"),
            entry("DiscardMessageAnswer", "discard answers nothing"),
            entry("EndSessionAnswer", "end answers nothing"));

    /** Schemas with another name in Java, because it is inside another type or shared. */
    private static final Map<String, String> RENAMED = Map.ofEntries(
            entry("BulkFilter", "admin.BulkJob$Filter"),
            entry("BulkDone", "admin.BulkJob$Done"),
            entry("BulkStarter", "admin.BulkJob$Starter"),
            entry("CappedCount", "admin.NamespaceView$CappedCount"),
            entry("MadeSealingKey", "admin.PutNamespaceAnswer$MadeSealingKey"),
            entry("Pause", "admin.ServiceAnswer$Pause"),
            entry("ServiceBuild", "admin.ServiceAnswer$Build"),
            entry("SettingInForce", "admin.ServiceAnswer$Setting"),
            entry("Breaker", "admin.ListBreakersAnswer$Breaker"),
            entry("JudgedAddress", "admin.CheckEgressAnswer$JudgedAddress"),
            entry("ClusterNode", "admin.ClusterAnswer$Node"),
            entry("ClusterShard", "admin.ClusterAnswer$Shard"),
            entry("KeptSecret", "admin.SecretFingerprint"),
            entry("WebhookTargetInput", "TargetInput"),
            entry("DeleteManyTimers", "CancelManyTimers"),
            entry("DeleteManyTimersAnswer", "CancelManyTimersAnswer"),
            entry("HistogramFilter", "CountTimers"),
            entry("TimerFired", "webhooks.TimerEvent"),
            entry("TimerDead", "webhooks.TimerEvent"),
            entry("BulkAnswer", "admin.Answers$BulkAnswer"),
            entry("KeyAnswer", "admin.Answers$KeyAnswer"),
            entry("NamespaceAnswer", "admin.Answers$NamespaceAnswer"),
            entry("MessageAnswer", "admin.Answers$MessageAnswer"),
            entry("RevokeLeakedKeyAnswer", "admin.Answers$RevokeLeakedKeyAnswer"),
            entry("ConfirmKeysAnswer", "admin.Answers$ConfirmKeysAnswer"),
            entry("ReplayMessageAnswer", "admin.Answers$ReplayMessageAnswer"));

    /**
     * Small requests are arguments of a call: the class and the method. Its parameters have the names of the fields.
     */
    private static final Map<String, Map.Entry<Class<?>, String>> ARGUMENTS = Map.ofEntries(
            entry("GetTimer", entry(Timers.class, "get")),
            entry("DeleteTimer", entry(Timers.class, "cancel")),
            entry("ListLives", entry(Timers.class, "lives")),
            entry("TimerHistogram", entry(Timers.class, "histogram")),
            entry("CreateManyTimers", entry(Timers.class, "createMany")),
            entry("GetBulk", entry(Bulk.class, "get")),
            entry("AbortBulk", entry(Bulk.class, "abort")),
            entry("ListBulk", entry(Bulk.class, "list")),
            entry("GetNamespace", entry(Namespaces.class, "get")),
            entry("ListNamespaces", entry(Namespaces.class, "list")),
            entry("GetService", entry(Service.class, "get")),
            entry("PauseService", entry(Service.class, "pause")),
            entry("ResumeService", entry(Service.class, "resume")),
            entry("ResetBreakers", entry(Breakers.class, "reset")),
            entry("CheckEgress", entry(Admin.class, "checkEgress")),
            entry("GetKey", entry(Keys.class, "get")),
            entry("RotateKey", entry(Keys.class, "rotate")),
            entry("RevokeKey", entry(Keys.class, "revoke")),
            entry("RevokeLeakedKey", entry(Keys.class, "revokeLeaked")),
            entry("ConfirmKeys", entry(Keys.class, "confirm")),
            entry("ListKeys", entry(Keys.class, "list")),
            entry("CreateSession", entry(Sessions.class, "create")),
            entry("ListMessages", entry(Messages.class, "list")),
            entry("GetMessage", entry(Messages.class, "get")),
            entry("ReplayMessage", entry(Messages.class, "replay")),
            entry("DiscardMessage", entry(Messages.class, "discard")));

    /** Fields with another name in Java: {@code schema.field}, or {@code *.field} for all schemas. */
    private static final Map<String, Map.Entry<Class<?>, String>> OTHER_NAMES = Map.ofEntries(
            entry("*.cursor", entry(Paged.class, "withCursor")),
            entry("*.limit", entry(Paged.class, "withPageSize")),
            entry("*.namespace", entry(Punctual.class, "inNamespace")),
            entry("ListTimers.include", entry(ListTimers.class, "includePayload")),
            entry("CreateManyTimers.timers", entry(Timers.class, "createMany")),
            entry("GetService.settings", entry(Service.class, "getWithSettings")),
            entry("ResumeService.fireOverdue", entry(Service.class, "resumeAndFireOverdue")),
            entry("ConfirmKeys.all", entry(Keys.class, "confirmAll")),
            entry("BulkJob.do", entry(io.punctual.client.admin.BulkJob.class, "deed")),
            entry("StartBulk.do", entry(io.punctual.client.admin.BulkJob.class, "deed")));

    @Test
    @DisplayName("there is a call for every operation, and a rule of repeats")
    void operations() {
        Set<String> operations =
                new TreeSet<>(Cases.members(CONTRACT, "operations").keySet());
        assertEquals(operations, new TreeSet<>(Operations.CALLS.keySet()));
        assertEquals(operations, new TreeSet<>(Repeats.RULES.keySet()));
    }

    @Test
    @DisplayName("every code exists")
    void codes() throws IllegalAccessException {
        List<String> known = new ArrayList<>();
        for (Field field : ErrorCode.class.getFields()) known.add((String) field.get(null));
        List<String> missing = CONTRACT.get("codes").orElseThrow().items().stream()
                .map(code -> code.as(String.class))
                .filter(code -> !known.contains(code))
                .toList();
        assertEquals(List.of(), missing);
    }

    @Test
    @DisplayName("every exception and every table names real schemas")
    void tables() {
        for (Set<String> names : List.of(ELSEWHERE.keySet(), RENAMED.keySet(), ARGUMENTS.keySet())) {
            assertTrue(SCHEMAS.keySet().containsAll(names), names.toString());
        }
    }

    @TestFactory
    Stream<DynamicTest> everyFieldExists() {
        return SCHEMAS.entrySet().stream()
                .filter(schema -> !ELSEWHERE.containsKey(schema.getKey()))
                .map(schema -> DynamicTest.dynamicTest(schema.getKey(), () -> {
                    List<String> wrong = new ArrayList<>();
                    schema.getValue().members().forEach((field, about) -> check(schema.getKey(), field, about)
                            .ifPresent(wrong::add));
                    assertEquals(List.of(), wrong);
                }));
    }

    /** What is wrong with a field; empty if nothing is. */
    private static Optional<String> check(String schema, String field, Json about) {
        // A constant that the class itself stands for.
        if (field.equals("type")
                && about.get("values").map(values -> values.items().size() == 1).orElse(false)) return Optional.empty();
        Optional<Type> found = typeOf(schema, field);
        if (found.isEmpty()) return Optional.of(field + " is missing");
        boolean isRequired = about.get("required").orElseThrow().as(boolean.class);
        boolean isRecord = classOf(schema).map(Class::isRecord).orElse(false);
        if (isRecord && !schema.startsWith("Timer") && isRequired != isAlwaysThere(found.get())) {
            return Optional.of(field + (isRequired ? " is never absent" : " may be absent"));
        }
        List<String> values = about.get("values")
                .map(listed -> listed.items().stream()
                        .map(value -> value.as(String.class))
                        .toList())
                .orElse(List.of());
        if (values.isEmpty() || field.equals("include")) return Optional.empty();
        Class<?> words = innermost(found.get());
        if (!words.isEnum()) return Optional.of(field + " is no enum");
        List<String> known =
                Arrays.stream(words.getEnumConstants()).map(Object::toString).toList();
        return known.containsAll(values)
                ? Optional.empty()
                : Optional.of(field + " lacks values: " + values + " " + known);
    }

    /** Lists, maps and flags are empty or false if they are absent. */
    private static boolean isAlwaysThere(Type type) {
        Class<?> raw = type instanceof ParameterizedType generic ? (Class<?>) generic.getRawType() : (Class<?>) type;
        return raw != Optional.class && raw != OptionalInt.class && raw != OptionalLong.class;
    }

    private static Class<?> innermost(Type type) {
        if (type instanceof ParameterizedType generic) return innermost(generic.getActualTypeArguments()[0]);
        Class<?> plain = (Class<?>) type;
        return plain.isArray() ? plain.getComponentType() : plain;
    }

    private static Optional<Type> typeOf(String schema, String field) {
        Optional<Type> direct = classOf(schema).flatMap(type -> memberOf(type, field));
        if (direct.isPresent()) return direct.map(type -> flagged(schema, field, type));
        Optional<Type> argument = Optional.ofNullable(ARGUMENTS.get(schema)).flatMap(call -> parameterOf(call, field));
        if (argument.isPresent()) return argument;
        if (isPageField(schema)) return Optional.of(Page.class);
        return Stream.of(schema + "." + field, "*." + field)
                .map(OTHER_NAMES::get)
                .filter(other -> other != null)
                .findFirst()
                .flatMap(other -> methodsNamed(other.getKey(), other.getValue()).findFirst())
                .map(method -> method.getParameterCount() == 0
                        ? method.getGenericReturnType()
                        : method.getGenericParameterTypes()[0]);
    }

    /** A list answers pages. What only some lists have is in the JSON of the page. */
    private static boolean isPageField(String schema) {
        return schema.startsWith("List")
                && schema.endsWith("Answer")
                && SCHEMAS.get(schema).get("nextCursor").isPresent();
    }

    /** Optional flags and lists count as optional: their absence is false, or empty. */
    private static Type flagged(String schema, String field, Type type) {
        boolean isRequired = SCHEMAS.get(schema)
                .get(field)
                .orElseThrow()
                .get("required")
                .orElseThrow()
                .as(boolean.class);
        Class<?> raw = type instanceof ParameterizedType generic ? (Class<?>) generic.getRawType() : (Class<?>) type;
        boolean hasEmpty = raw == boolean.class
                || raw == Map.class
                || raw == List.class && !innermost(type).isEnum();
        return !isRequired && hasEmpty ? OptionalInt.class : type;
    }

    private static Optional<Class<?>> classOf(String schema) {
        for (String name : List.of(RENAMED.getOrDefault(schema, schema), "admin." + schema, "webhooks." + schema)) {
            try {
                return Optional.of(Class.forName(HERE + name));
            } catch (ClassNotFoundException elsewhere) {
                continue;
            }
        }
        return Optional.empty();
    }

    /** A component of a record, or a method, factory or constructor of a request that sets the field. */
    private static Optional<Type> memberOf(Class<?> type, String field) {
        if (type.isRecord()) {
            return Arrays.stream(type.getRecordComponents())
                    .filter(component -> component.getName().equals(field))
                    .map(RecordComponent::getGenericType)
                    .findFirst();
        }
        Optional<Type> setter = methodsNamed(type, field)
                .map(method -> method.getParameterCount() == 0
                        ? boolean.class
                        : method.getParameters()[0].getParameterizedType())
                .findFirst();
        Stream<Executable> makers = Stream.concat(
                Arrays.stream(type.getConstructors()),
                Arrays.stream(type.getMethods()).filter(method -> Modifier.isStatic(method.getModifiers())));
        return setter.or(() -> makers.map(Executable::getParameters)
                .flatMap(Arrays::stream)
                .filter(parameter -> parameter.getName().equals(field))
                .map(Parameter::getParameterizedType)
                .findFirst());
    }

    private static Optional<Type> parameterOf(Map.Entry<Class<?>, String> call, String field) {
        return methodsNamed(call.getKey(), call.getValue())
                .flatMap(method -> Arrays.stream(method.getParameters()))
                .filter(parameter -> parameter.getName().equals(field))
                .map(Parameter::getParameterizedType)
                .findFirst();
    }

    private static Stream<Method> methodsNamed(Class<?> type, String name) {
        return Arrays.stream(type.getMethods())
                .filter(method -> method.getName().equals(name)
                        && !Modifier.isStatic(method.getModifiers())
                        && !method.isBridge());
    }
}
