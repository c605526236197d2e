package io.punctual.client;

/**
 * A timer of {@code createMany} that the service refused.
 *
 * @param problem why
 * @param json the whole object, also with fields of a newer service
 */
public record FailedItem(ProblemDocument problem, Json json) implements CreateManyItem {}
