"""Command-line tools: arguments, colours and exit codes live only here."""
