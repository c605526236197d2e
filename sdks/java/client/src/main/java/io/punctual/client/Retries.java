package io.punctual.client;

/** When to try again after a failed attempt: {@link RetryPolicy} or {@link RetryWaits}. */
public sealed interface Retries permits RetryPolicy, RetryWaits {}
