/** A program with modules that uses every part of the client. */
module example.consumer {
    requires io.punctual.client;
    requires io.punctual.client.servlet;

    // The client reads and writes the records of this package as payloads.
    opens example to
            io.punctual.client;
}
