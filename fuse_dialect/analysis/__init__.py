"""Facts about a function, never mutation: graph, post-dominators, rules, plan."""
