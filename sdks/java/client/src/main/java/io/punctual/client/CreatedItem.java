package io.punctual.client;

import java.util.List;

/**
 * A timer of {@code createMany} that the service accepted.
 *
 * @param result what the create did
 * @param timerId the id of the timer
 * @param revision the revision of the timer
 * @param fireId the id of its firing
 * @param warnings sentences for people
 * @param json the whole object, also with fields of a newer service
 */
public record CreatedItem(
        CreateResult result, String timerId, long revision, String fireId, List<String> warnings, Json json)
        implements CreateManyItem {}
