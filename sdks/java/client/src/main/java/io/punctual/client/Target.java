package io.punctual.client;

/** Where a timer is delivered. */
public sealed interface Target permits WebhookTarget, EventTarget, HandlerTarget, OtherTarget {}
