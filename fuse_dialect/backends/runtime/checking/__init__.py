"""Checks of a program's memory and of its control, by code that knows what they promise and not how they are made."""
