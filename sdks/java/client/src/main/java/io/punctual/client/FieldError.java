package io.punctual.client;

/**
 * What is wrong with one field of a request.
 *
 * @param pointer JSON pointer (RFC 6901) to the field; empty for the whole body
 * @param detail what is wrong with the field, and how to fix it
 */
public record FieldError(String pointer, String detail) {}
