package io.punctual.client.webhooks;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Signatures of webhooks (Standard Webhooks 1.0), over the bytes of the body. Checking and parsing are separate: a body
 * need not be text, and text that was parsed and written again has another signature. {@link WebhookHandler} checks by
 * itself.
 */
public final class Signatures {
    /** The largest difference between the clocks, as Standard Webhooks recommends. */
    public static final Duration USUAL_TOLERANCE = Duration.ofMinutes(5);

    private static final String SECRET_START = "whsec_";
    private static final int SIGNATURES_MAX = 20;

    private Signatures() {}

    /**
     * Checks the signature of a webhook that arrived now. It does not look into the body.
     *
     * @param request the headers
     * @param body the body exactly as it arrived
     * @param secrets secrets such as {@code whsec_…}. One of them must have signed. During a change give both
     * @return what the check found
     */
    public static Finding verify(WebhookRequest request, byte[] body, List<String> secrets) {
        return verify(request, body, secrets, USUAL_TOLERANCE, Instant.now());
    }

    /**
     * Checks the signature of a webhook. It does not look into the body.
     *
     * @param request the headers
     * @param body the body exactly as it arrived
     * @param secrets secrets such as {@code whsec_…}. One of them must have signed. During a change give both
     * @param tolerance the largest difference between the clocks
     * @param now the time to compare with
     * @return what the check found
     */
    public static Finding verify(
            WebhookRequest request, byte[] body, List<String> secrets, Duration tolerance, Instant now) {
        Optional<String> id = request.header("webhook-id");
        Optional<String> timestamp = request.header("webhook-timestamp");
        Optional<String> given = request.header("webhook-signature");
        if (id.isEmpty() || timestamp.isEmpty() || given.isEmpty()) return Finding.MISSING;
        if (!timestamp.get().matches("[0-9]{1,15}")) return Finding.WRONG;
        List<byte[]> signatures = Arrays.stream(given.get().split(" "))
                .limit(SIGNATURES_MAX)
                .filter(part -> part.startsWith("v1,"))
                .flatMap(part -> bytesOfBase64(part.substring(3)).stream())
                .toList();
        boolean isSigned = secrets.stream()
                .map(secret -> signature(id.get(), timestamp.get(), body, secret))
                .anyMatch(right -> signatures.stream().anyMatch(found -> MessageDigest.isEqual(right, found)));
        if (!isSigned) return Finding.WRONG;
        // The age counts only with a right signature: without one, anyone could have written the time.
        Duration age = Duration.ofMillis(now.toEpochMilli() - Long.parseLong(timestamp.get()) * 1000);
        if (age.compareTo(tolerance) > 0) return Finding.TOO_OLD;
        return age.compareTo(tolerance.negated()) < 0 ? Finding.TOO_NEW : Finding.OK;
    }

    /**
     * The value of {@code webhook-signature} for a body, as the service writes it. For tests.
     *
     * @param id the value of {@code webhook-id}
     * @param timestampSeconds the value of {@code webhook-timestamp}
     * @param body the body
     * @param secret a secret such as {@code whsec_…}
     * @return such as {@code v1,…}
     */
    public static String sign(String id, long timestampSeconds, byte[] body, String secret) {
        byte[] signature = signature(id, Long.toString(timestampSeconds), body, secret);
        return "v1," + Base64.getEncoder().encodeToString(signature);
    }

    private static byte[] signature(String id, String timestamp, byte[] body, String secret) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(secretBytes(secret), "HmacSHA256"));
            mac.update((id + "." + timestamp + ".").getBytes(StandardCharsets.UTF_8));
            return mac.doFinal(body);
        } catch (GeneralSecurityException absent) {
            throw new IllegalStateException("this Java has no HmacSHA256", absent);
        }
    }

    /** The message of its exception does not contain the secret. */
    static byte[] secretBytes(String secret) {
        return Optional.of(secret)
                .filter(text -> text.startsWith(SECRET_START))
                .flatMap(text -> bytesOfBase64(text.substring(SECRET_START.length())))
                .filter(bytes -> bytes.length >= 24 && bytes.length <= 64)
                .orElseThrow(() -> new IllegalArgumentException(
                        "a webhook secret must be whsec_ followed by 24 to 64 bytes in base64"));
    }

    private static Optional<byte[]> bytesOfBase64(String text) {
        try {
            return Optional.of(Base64.getDecoder().decode(text));
        } catch (IllegalArgumentException noBase64) {
            return Optional.empty();
        }
    }
}
