/**
 * Help for tests: a real service with a manual clock ({@link io.punctual.client.testing.TestService}), a receiver that
 * records, and signed requests.
 */
package io.punctual.client.testing;
