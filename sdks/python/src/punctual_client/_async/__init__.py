"""The async client. tools/make_async.py makes all files of this folder from those of the sync client."""
