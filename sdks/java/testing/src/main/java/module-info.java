/** Help for tests of programs that use Punctual. */
module io.punctual.client.testing {
    requires transitive io.punctual.client;
    requires static transitive org.junit.jupiter.api;
    requires jdk.httpserver;

    exports io.punctual.client.testing;
}
