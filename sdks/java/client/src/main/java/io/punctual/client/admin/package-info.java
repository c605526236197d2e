/** The calls for operators. Begin with {@link io.punctual.client.admin.Admin}. */
package io.punctual.client.admin;
