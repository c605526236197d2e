/** Receives timers in a servlet container. See {@link io.punctual.client.servlet.WebhookServlet}. */
package io.punctual.client.servlet;
