"""Command-line tools: arguments and exit codes live only here."""
