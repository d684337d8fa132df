"""The strategy `cost`: fusion where that saves time, by forms of loops and the rates of a machine. Pure Python.

Only `fusion.core.strategy.STRATEGIES` names it, so that the package without this room has all else.
"""
