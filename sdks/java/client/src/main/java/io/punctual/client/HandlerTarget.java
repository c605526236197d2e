package io.punctual.client;

/** A function of the program that runs the engine. */
public record HandlerTarget() implements Target {}
