"""The sync client. tools/make_async.py makes the async client from these files."""
