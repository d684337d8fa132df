"""Pictures of plans: one page that explains itself, and the language of Graphviz."""
