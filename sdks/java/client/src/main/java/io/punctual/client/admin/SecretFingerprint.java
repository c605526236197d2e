package io.punctual.client.admin;

/**
 * A webhook secret, by its fingerprint. The service does not show secrets.
 *
 * @param fingerprint the first part of its hash
 */
public record SecretFingerprint(String fingerprint) {}
