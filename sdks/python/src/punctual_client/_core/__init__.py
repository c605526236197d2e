"""The inside of the client: everything except input and output. It can change with every version."""
