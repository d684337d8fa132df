"""Which of two layouts each op gets, where ops cost something in each and neighbours that differ cost something, too.

The sum is least where a network of pipes is cut: an op stands on the side of the source (the first layout) or of the
sink (the second one), and each pipe that leads from the first side to the second one is cut and costs what it holds.
The greatest flow is as much as the least cut, and shows it.

Source: D. Greig, B. Porteous, A. Seheult, "Exact Maximum A Posteriori Estimation for Binary Images",
https://doi.org/10.1111/j.2517-6161.1989.tb01764.x; Y. Dinitz, "Algorithm for solution of a problem of maximum flow in
networks with power estimation" (1970).
"""

from collections import deque

UNBOUNDED = 1 << 62
"""What a pipe holds that is never cut."""
SOURCE, SINK = 0, 1
_VISITS = 64
"""Looks at pipes, for each pipe, after which what has flowed has to do."""


class CutNetwork:
    """Pipes between the source, the sink and numbered nodes."""

    def __init__(self) -> None:
        """A network of source and sink alone."""
        self._pipes: list[list[int]] = [[], []]
        self._ends: list[int] = []
        self._room: list[int] = []
        """What pipe `i` can still take; pipe `i ^ 1` leads back."""
        self._left = 0
        """Looks at pipes that are left."""

    def add_node(self) -> int:
        """The number of another node."""
        self._pipes.append([])
        return len(self._pipes) - 1

    def add_pipe(self, source: int, target: int, room: int) -> None:
        """Cost of `source` on the first side with `target` on the second one; 0 or more."""
        if room and source != target:
            for end, other, most in ((target, source, room), (source, target, 0)):
                self._pipes[other].append(len(self._ends))
                self._ends.append(end)
                self._room.append(most)

    def second_side(self) -> list[bool]:
        """For each node whether it stands with the sink in a cut of least cost; all that may do.

        Complexity: O(pipes) for each length of a way from source to sink; at most `_VISITS` looks for each pipe, after
        which the cut may cost more than the least, but not more than all nodes on one side.

        Example:
            >>> network = CutNetwork()
            >>> one, other = network.add_node(), network.add_node()
            >>> network.add_pipe(SOURCE, one, 5)  # what `one` costs on the second side
            >>> network.add_pipe(other, SINK, 9)  # what `other` costs on the first side
            >>> network.add_pipe(one, other, 2)  # what it costs that they differ
            >>> network.second_side()[2:]
            [False, True]
        """
        self._left = _VISITS * len(self._ends)
        held = list(self._room)
        while True:
            levels = self._levels()
            found = [level < 0 for level in levels]
            if found[SINK]:
                return found
            if self._left <= 0:
                found[SINK] = True
                nodes = range(len(levels))
                sides = (found, [node == SINK for node in nodes], [node != SOURCE for node in nodes])
                return min(sides, key=lambda side: self._cost(side, held))
            self._fill(levels)

    def _cost(self, is_second: list[bool], held: list[int]) -> int:
        """What a cut costs, by what each pipe held."""
        return sum(
            room
            for pipe, room in enumerate(held)
            if room and is_second[self._ends[pipe]] and not is_second[self._ends[pipe ^ 1]]
        )

    def _levels(self) -> list[int]:
        """How far each node is from the source along pipes with room; -1 if there is no way."""
        levels = [-1] * len(self._pipes)
        levels[SOURCE] = 0
        pending = deque([SOURCE])
        while pending:
            node = pending.popleft()
            self._left -= len(self._pipes[node])
            for pipe in self._pipes[node]:
                end = self._ends[pipe]
                if levels[end] < 0 and self._room[pipe]:
                    levels[end] = levels[node] + 1
                    pending.append(end)
        return levels

    def _fill(self, levels: list[int]) -> None:
        """Let flow what shortest ways take."""
        following = [0] * len(self._pipes)
        way: list[int] = []
        node = SOURCE
        while self._left > 0:
            if node == SINK:
                node = self._flow(way)
            pipe = self._step(node, levels, following)
            if pipe is not None:
                way.append(pipe)
                node = self._ends[pipe]
            elif way:
                node = self._ends[way.pop() ^ 1]
                following[node] += 1
            else:
                return

    def _step(self, node: int, levels: list[int], following: list[int]) -> int | None:
        """The next pipe with room that leads on."""
        pipes = self._pipes[node]
        for place in range(following[node], len(pipes)):
            self._left -= 1
            pipe = pipes[place]
            if self._room[pipe] and levels[self._ends[pipe]] == levels[node] + 1:
                following[node] = place
                return pipe
        following[node] = len(pipes)
        return None

    def _flow(self, way: list[int]) -> int:
        """Fill a way, and go back to the node before the first pipe that is full."""
        most = min(self._room[pipe] for pipe in way)
        for pipe in way:
            self._room[pipe] -= most
            self._room[pipe ^ 1] += most
        full = next(place for place, pipe in enumerate(way) if not self._room[pipe])
        node = self._ends[way[full] ^ 1]
        self._left -= len(way)
        del way[full:]
        return node
