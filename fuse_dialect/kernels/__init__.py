"""A primitive as loops: pure data and algorithms on it, below the dialect, whose ops say how they become loops."""
