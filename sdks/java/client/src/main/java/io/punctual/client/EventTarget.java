package io.punctual.client;

/** An event on the message bus. */
public record EventTarget() implements Target {}
