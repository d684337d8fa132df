"""The steps of loops in symbols: what the functions of `control` do with a descriptor, as its docstring says it.

The numbers in brackets are those of `program_memory`.
"""

from dataclasses import dataclass

from fuse_dialect.backends.runtime.checking.contents import content_of
from fuse_dialect.backends.runtime.checking.program_meaning import MOST_TRIPS, Meaning
from fuse_dialect.backends.runtime.checking.symbolic_memory import SymbolicMemory
from fuse_dialect.backends.runtime.control import RECORD_WORDS, WORD, LoopWord
from fuse_dialect.backends.runtime.count_words import COUNT_WORDS
from fuse_dialect.checked import CheckError

_COUNTER = "the counter of a loop"
_CONDITION = "the condition of a loop"


@dataclass(eq=False, slots=True)
class ControlSteps:
    """The loops of a run. A descriptor is named by the number of its first word."""

    memory: SymbolicMemory
    meaning: Meaning

    def holds(self, address: int, what: str) -> bool:
        """Whether the i1 at an address is true; so it is without one."""
        return not address or self.meaning.decisions.truth(self.memory.read(address, 1, what))

    def begin(self, descriptor: int, *, is_begun: bool) -> int:
        """Begin a loop, in any case or as its words say: how many steps to go on by."""
        words = self.memory.words
        self._count(descriptor, 0)
        count = min(words[descriptor + LoopWord.BOUND], MOST_TRIPS)
        if limit := words[descriptor + LoopWord.LIMIT]:
            count = min(count, self.meaning.decisions.trips(self.memory.read(limit, WORD, "the limit of a loop")))
        count = max(count, int(is_begun))
        words[descriptor + LoopWord.COUNT] = count
        self._move(descriptor, 0)
        self._turn(descriptor)
        self._follow(descriptor, 0)
        enters = self.holds(words[descriptor + LoopWord.BEGINS], _CONDITION) and count > 0
        return 1 if enters or is_begun else words[descriptor + LoopWord.ROWS] + 2

    def end(self, descriptor: int) -> int:
        """End an iteration: how many steps to go on by, or back."""
        words = self.memory.words
        goes_on = self.holds(words[descriptor + LoopWord.GOES_ON], _CONDITION)
        self._follow(descriptor, 1)
        trip = self._trip(descriptor) + 1
        self._count(descriptor, trip)
        if not goes_on or trip >= words[descriptor + LoopWord.COUNT]:
            return 1
        self._turn(descriptor)
        self._move(descriptor, trip)
        return -words[descriptor + LoopWord.ROWS]

    def count(self, slots: int) -> int:
        """Say how often a loop has run; all sizes here are those of the most iterations."""
        self._trips_at(self.memory.words[slots + COUNT_WORDS], MOST_TRIPS)
        return 1

    def _trip(self, descriptor: int) -> int:
        return self._trips_at(self.memory.words[descriptor + LoopWord.COUNTER], MOST_TRIPS - 1)

    def _trips_at(self, address: int, most: int) -> int:
        found = self.memory.read(address, WORD, _COUNTER)
        for trip in range(most + 1):
            if found == content_of(self.meaning.iteration(trip), WORD):
                return trip
        raise CheckError(f"{_COUNTER} is {self.memory.told(found)} at the end of an iteration")  # (4)

    def _count(self, descriptor: int, trip: int) -> None:
        content = content_of(self.meaning.iteration(trip), WORD)
        self.memory.write(self.memory.words[descriptor + LoopWord.COUNTER], content, WORD, _COUNTER)

    def _records(self, descriptor: int, count: LoopWord) -> list[int]:
        words = self.memory.words
        number = words[descriptor + count]
        first = self.memory.word_at(words[descriptor + count + 1]) if number else 0
        return [first + place * RECORD_WORDS for place in range(number)]

    def _spread(self, record: int, address: int) -> None:
        words = self.memory.words
        # The number of words and the address of their list are the third and the fourth word of every record.
        number, first = words[record + 2], self.memory.word_at(words[record + 3])
        for place in range(number):
            words[self.memory.word_at(words[first + place])] = address

    def _move(self, descriptor: int, trip: int) -> None:
        words = self.memory.words
        for record in self._records(descriptor, LoopWord.MOVES):
            self._spread(record, words[record] + words[record + 1] * trip)

    def _turn(self, descriptor: int) -> None:
        words = self.memory.words
        for record in self._records(descriptor, LoopWord.TURNS):
            words[record], words[record + 1] = words[record + 1], words[record]
            self._spread(record, words[record])

    def _follow(self, descriptor: int, which: int) -> None:
        # One after the other, as the functions do: that no state becomes another one is theirs to rely on.
        for record in self._records(descriptor, LoopWord.STATES):
            self._spread(record, self.memory.words[record + which])
