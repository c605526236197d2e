package io.punctual.client;

/** What became of one timer of {@code createMany}: {@link CreatedItem} or {@link FailedItem}. */
public sealed interface CreateManyItem permits CreatedItem, FailedItem {}
