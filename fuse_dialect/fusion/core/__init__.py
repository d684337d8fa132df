"""Which nodes of a graph of numbers become one kernel: TVM's rules, other tables, other strategies. Pure Python."""
