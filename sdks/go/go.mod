module punctual.dev/client

go 1.23
