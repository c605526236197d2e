/** Receives timers of Punctual in a servlet container. */
module io.punctual.client.servlet {
    requires transitive io.punctual.client;
    requires transitive jakarta.servlet;

    exports io.punctual.client.servlet;
}
