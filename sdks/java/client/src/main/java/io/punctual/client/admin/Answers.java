package io.punctual.client.admin;

import java.util.List;

/** Answers that have one part only. The calls return this part. */
final class Answers {
    private Answers() {}

    record BulkAnswer(BulkJob job) {}

    record NamespaceAnswer(NamespaceView settings) {}

    record KeyAnswer(Key key) {}

    record RevokeLeakedKeyAnswer(LeakedKeyResult result) {}

    record ConfirmKeysAnswer(List<String> confirmed) {}

    record MessageAnswer(StoredMessage message) {}

    record ReplayMessageAnswer(ReplayMessageResult result) {}
}
