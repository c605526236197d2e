package io.punctual.client;

/**
 * A kind of target that this version does not know.
 *
 * @param type the kind
 * @param json the whole object, also with fields of a newer service
 */
public record OtherTarget(String type, Json json) implements Target {}
