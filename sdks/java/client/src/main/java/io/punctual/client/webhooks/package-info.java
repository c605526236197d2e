/** Receive timers. Begin with {@link io.punctual.client.webhooks.WebhookHandler}. */
package io.punctual.client.webhooks;
