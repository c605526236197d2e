/** The client of Punctual: create, change, find and cancel timers, and receive them. */
module io.punctual.client {
    requires transitive java.net.http;
    // Only for HttpServerHandler, so only for programs that have this server.
    requires static transitive jdk.httpserver;
    requires static com.fasterxml.jackson.databind;

    exports io.punctual.client;
    exports io.punctual.client.admin;
    exports io.punctual.client.webhooks;
}
