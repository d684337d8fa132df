"""A primitive as loops: pure data, and algorithms on it. The dialect uses it: each op says how it becomes loops."""
