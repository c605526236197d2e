package io.punctual.client;

import static java.util.Map.entry;

import io.punctual.client.admin.Admin;
import io.punctual.client.admin.AdvanceClock;
import io.punctual.client.admin.BulkFilterInput;
import io.punctual.client.admin.BulkJob;
import io.punctual.client.admin.CreateKey;
import io.punctual.client.admin.ListAudit;
import io.punctual.client.admin.PutNamespace;
import io.punctual.client.admin.StartBulk;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Every operation of the OpenAPI document, as this library calls it. */
final class Operations {
    /** Calls the operation with the fields of a case. A list answers itself. */
    interface Call {
        Object make(Punctual punctual, Fields fields);
    }

    /** The fields of a case. What a call takes as an argument is taken out. */
    static final class Fields {
        private final Map<String, Object> rest;

        Fields(Map<?, ?> fields) {
            rest = new HashMap<>(CompleteRequest.fieldsOf(fields));
        }

        Map<String, Object> rest() {
            return rest;
        }

        String text(String name) {
            return (String) rest.remove(name);
        }

        Object take(String name) {
            return rest.remove(name);
        }

        boolean has(String name) {
            return rest.containsKey(name);
        }
    }

    private Operations() {}

    static final Map<String, Call> CALLS = Map.ofEntries(
            entry("timers.create", (punctual, fields) -> punctual.timers()
                    .create(Filling.fill(new CreateTimer(), fields.rest()))),
            entry("timers.createMany", (punctual, fields) -> punctual.timers().createMany(itemsOf(fields))),
            entry(
                    "timers.get",
                    (punctual, fields) -> in(punctual, fields).timers().get(fields.text("timerId"))),
            entry("timers.update", (punctual, fields) -> punctual.timers()
                    .update(Filling.fill(new UpdateTimer(fields.text("timerId")), fields.rest()))),
            entry(
                    "timers.delete",
                    (punctual, fields) -> Map.of(
                            "result",
                            fields.has("ifRevision")
                                    ? punctual.timers().cancel(fields.text("timerId"), (Long) fields.take("ifRevision"))
                                    : punctual.timers().cancel(fields.text("timerId")))),
            entry("timers.deleteMany", (punctual, fields) -> punctual.timers()
                    .cancelMany(Filling.fill(new CancelManyTimers(), fields.rest()))),
            entry("timers.list", (punctual, fields) -> {
                Object cursor = fields.take("cursor");
                Paged<Timer> list = punctual.timers().list(Filling.fill(new ListTimers(), fields.rest()));
                return cursor == null ? list : list.withCursor((String) cursor);
            }),
            entry("timers.count", (punctual, fields) -> punctual.timers()
                    .count(Filling.fill(new CountTimers(), fields.rest()))),
            entry("timers.histogram", (punctual, fields) -> {
                CountTimers filter = Filling.fill(new CountTimers(), CompleteRequest.fieldsOf(fields.take("filter")));
                return punctual.timers().histogram(filter, ((Long) fields.take("buckets")).intValue());
            }),
            entry("timers.lives", (punctual, fields) -> punctual.timers().lives(fields.text("timerId"))),
            entry("timers.activity", (punctual, fields) -> {
                GetActivity request = new GetActivity(Instant.EPOCH, Instant.EPOCH, fields.text("step"));
                request.set("from", fields.take("from")).set("until", fields.take("until"));
                return punctual.timers().activity(Filling.fill(request, fields.rest()));
            }),
            entry("timers.replay", (punctual, fields) -> punctual.timers()
                    .replay(Filling.fill(new ReplayTimers(), fields.rest()))),
            entry("timers.discard", (punctual, fields) -> punctual.timers()
                    .discard(Filling.fill(new DiscardTimers(), fields.rest()))),
            entry("bulk.start", (punctual, fields) -> {
                BulkFilterInput filter =
                        Filling.fill(new BulkFilterInput(), CompleteRequest.fieldsOf(fields.take("filter")));
                BulkJob.Deed deed = Json.of(fields.text("do")).as(BulkJob.Deed.class);
                StartBulk request = new StartBulk(deed, filter, fields.text("reason"), (Long) fields.take("expect"));
                return admin(punctual).bulk().start(Filling.fill(request, fields.rest()));
            }),
            entry("bulk.get", (punctual, fields) -> admin(punctual).bulk().get(fields.text("jobId"))),
            entry("bulk.list", (punctual, fields) -> admin(punctual).bulk().list()),
            entry("bulk.abort", (punctual, fields) -> admin(punctual).bulk().abort(fields.text("jobId"))),
            entry("cluster.cluster", (punctual, fields) -> admin(punctual).cluster()),
            entry("clock.advance", (punctual, fields) -> admin(punctual)
                    .advanceClock(Filling.fill(new AdvanceClock(), fields.rest()))),
            entry("namespaces.put", (punctual, fields) -> admin(punctual)
                    .namespaces()
                    .put(Filling.fill(new PutNamespace(fields.text("namespace")), fields.rest()))),
            entry("namespaces.get", (punctual, fields) -> admin(in(punctual, fields))
                    .namespaces()
                    .get()),
            entry(
                    "namespaces.list",
                    (punctual, fields) -> admin(punctual).namespaces().list()),
            entry("service.get", (punctual, fields) -> admin(punctual).service().get()),
            entry(
                    "service.pause",
                    (punctual, fields) -> admin(punctual).service().pause(fields.text("reason"))),
            entry(
                    "service.resume",
                    (punctual, fields) -> admin(punctual).service().resume()),
            entry(
                    "breakers.list",
                    (punctual, fields) -> admin(punctual).breakers().list()),
            entry(
                    "breakers.reset",
                    (punctual, fields) -> admin(punctual).breakers().reset(fields.text("host"))),
            entry("egress.check", (punctual, fields) -> admin(punctual).checkEgress(fields.text("url"))),
            entry(
                    "messages.list",
                    (punctual, fields) -> admin(punctual).messages().list()),
            entry(
                    "messages.get",
                    (punctual, fields) -> admin(punctual).messages().get(fields.text("id"))),
            entry(
                    "messages.replay",
                    (punctual, fields) -> admin(punctual).messages().replay(fields.text("id"))),
            entry("messages.discard", (punctual, fields) -> {
                admin(punctual).messages().discard(fields.text("id"));
                return Map.of();
            }),
            entry("keys.create", (punctual, fields) -> admin(punctual)
                    .keys()
                    .create(Filling.fill(new CreateKey(fields.text("label")), fields.rest()))),
            entry("keys.rotate", (punctual, fields) -> admin(punctual).keys().rotate(fields.text("id"))),
            entry("keys.revoke", (punctual, fields) -> admin(punctual).keys().revoke(fields.text("id"))),
            entry(
                    "keys.revokeLeaked",
                    (punctual, fields) -> admin(punctual).keys().revokeLeaked(fields.text("apiKey"))),
            entry("keys.confirm", (punctual, fields) -> admin(punctual).keys().confirmAll()),
            entry("keys.get", (punctual, fields) -> admin(punctual).keys().get(fields.text("id"))),
            entry("keys.list", (punctual, fields) -> admin(punctual).keys().list()),
            entry("keys.self", (punctual, fields) -> admin(punctual).keys().self()),
            entry(
                    "sessions.create",
                    (punctual, fields) -> admin(punctual).sessions().create(fields.text("apiKey"))),
            entry("sessions.end", (punctual, fields) -> {
                admin(punctual).sessions().end();
                return Map.of();
            }),
            entry("audit.list", (punctual, fields) -> admin(punctual)
                    .audit(Filling.fill(new ListAudit(), fields.rest()))),
            entry(
                    "events.stream",
                    (punctual, fields) -> punctual.events(Filling.fill(new StreamEvents(), fields.rest()))));

    /** The answer of a call by its id; of a list, the first page. */
    static Object make(Punctual punctual, String operation, Json request) {
        Call call = CALLS.get(operation);
        if (call == null) throw new AssertionError("the library has no call for " + operation);
        Object answer = call.make(punctual, new Fields((Map<?, ?>) Cases.nativeOf(request)));
        return answer instanceof Paged<?> list ? list.page() : answer;
    }

    /** A request that names a namespace goes through the client of that namespace. */
    private static Punctual in(Punctual punctual, Fields fields) {
        String namespace = fields.text("namespace");
        return namespace == null ? punctual : punctual.inNamespace(namespace);
    }

    private static Admin admin(Punctual punctual) {
        return new Admin(punctual);
    }

    private static List<CreateTimer> itemsOf(Fields fields) {
        return ((List<?>) fields.take("timers"))
                .stream()
                        .map(item -> Filling.fill(new CreateTimer(), CompleteRequest.fieldsOf(item)))
                        .toList();
    }
}
