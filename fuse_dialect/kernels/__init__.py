"""A primitive as loops: pure data, and algorithms on it. The dialect is built on this: each op says how it becomes loops."""
