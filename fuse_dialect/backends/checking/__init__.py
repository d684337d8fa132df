"""Checks of decisions about memory, by code that knows what they promise and not how they are made."""
