"""The words that kernels and control steps of a plan read: addresses, sizes, descriptors of loops.

What is known only when a frame is made or a call runs is noted: words that the address of the arena or of the slots is
added to, words that inputs and outputs go to, and words that a loop writes while it runs.
"""

from dataclasses import dataclass, field

from fuse_dialect.backends.runtime.arrays import address_of
from fuse_dialect.backends.runtime.constants import Constants
from fuse_dialect.backends.runtime.plan import Home, Plan
from fuse_dialect.dialect.op import Array


@dataclass(eq=False, slots=True)
class Slots:
    """Words in order, and what becomes of them."""

    plan: Plan
    constants: Constants
    words: list[int] = field(default_factory=list[int])
    in_arena: list[int] = field(default_factory=list[int])
    """Words that the start of the frame's memory is added to."""
    in_slots: list[int] = field(default_factory=list[int])
    """Words that hold the number of a word, and become its address."""
    in_constants: list[tuple[int, Array]] = field(default_factory=list[tuple[int, Array]])
    """Words that hold the address of a constant, with the constant."""
    bound: dict[tuple[Home, int], list[int]] = field(default_factory=dict[tuple[Home, int], list[int]])
    """Words to fill in every call, by input, output or held tensor."""
    settled: dict[int, int] = field(default_factory=dict[int, int])
    """Words that hold the address of a settled value, with the number of the tensor."""
    own: dict[int, int] = field(default_factory=dict[int, int])
    """Settled values that stand among the words, by tensor: the run says what they are."""
    told: dict[int, int] = field(default_factory=dict[int, int])
    """The same of those that a loop says, for each of its iterations."""
    moving: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    """Words that a loop writes, by the tensor whose address they hold."""

    def __len__(self) -> int:
        """How many words there are."""
        return len(self.words)

    def add(self, *words: int) -> int:
        """Add words as they are; the number of the first."""
        self.words += words
        return len(self.words) - len(words)

    def add_offset(self, offset: int) -> int:
        """Add the address of a place in the frame's memory."""
        self.in_arena.append(len(self.words))
        return self.add(offset)

    def add_constant(self, array: Array) -> int:
        """Add the address of a constant, which somebody else keeps."""
        self.in_constants.append((len(self.words), array))
        return self.add(address_of(array))

    def set_constant(self, word: int, array: Array) -> None:
        """Let a word be the address of a constant."""
        self.in_constants.append((word, array))
        self.words[word] = address_of(array)

    def add_address_of_word(self, number: int) -> int:
        """Add the address of a word."""
        self.in_slots.append(len(self.words))
        return self.add(number)

    def add_address(self, tensor: int) -> int:
        """Add the address of a tensor."""
        place, word = self.plan.places[tensor], len(self.words)
        match place.home:
            case Home.ARENA:
                return self.add_offset(place.at)
            case Home.CONSTANT:
                return self.add_constant(self.constants.dense(place.at))
            case Home.SETTLED if place.at in self.own:
                return self.add_address_of_word(self.own[place.at])
            case Home.SETTLED if place.at in self.told:
                return self.add_address_of_word(self.told[place.at])
            case Home.SETTLED:
                self.settled[word] = place.at
                return self.add(address_of(self.plan.values[place.at]))
            case Home.INPUT | Home.OUTPUT | Home.HELD:
                self.bound.setdefault((place.home, place.at), []).append(word)
            case Home.MOVING:
                self.moving.setdefault(place.at, []).append(word)
            case Home.INSIDE:
                raise AssertionError("a step reads what exists only inside a step that NumPy runs")
        return self.add(0)
