/**
 * The client of Punctual. Begin with {@link io.punctual.client.Punctual}. Failed calls throw a
 * {@link io.punctual.client.PunctualException}.
 */
package io.punctual.client;
