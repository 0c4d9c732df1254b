"""The client, with async and await."""

# Made of _async by generate.py.
