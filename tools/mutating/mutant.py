"""What a mutant of `mutation.py` is."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mutating.rules import RULES, WHOLE_MODULES, Place, places

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one place of a function."""

    module: str
    function: str
    """Qualified name, or `<module>`."""
    rule: str
    number: int

    def __str__(self) -> str:
        return f"{self.module}:{self.function} {self.rule} {self.number}"

    @property
    def file(self) -> Path:
        """Where the function stands, below the root of the project."""
        path = Path(*self.module.split("."))
        return path / "__init__.py" if (ROOT / path).is_dir() else path.with_suffix(".py")

    def place(self) -> Place:
        """What it changes.

        Raises:
            LookupError: The function, or the rule in it, has no such place.
        """
        found = _places(self.file).get((self.function, self.rule, self.number))
        if found is None:
            raise LookupError(f"{self}: there is no such place in {self.file}")
        return found


def mutants_of(table: Mapping[str, str], whole: Iterable[str] = ()) -> Iterator[Mutant]:
    """The mutants of rows such as `{"package.module": "function rule 0 2 rule 1; Class.method rule 0"}`.

    Args:
        table: For each module its functions, each with rules and numbers.
        whole: Modules of which every function is changed at every place of `WHOLE_MODULES`.
    """
    for module, text in table.items():
        for row in text.split(";"):
            function, *words = row.split()
            rule = ""
            for word in words:
                if word in RULES:
                    rule = word
                else:
                    yield Mutant(module, function, rule, int(word))
    for module in whole:
        every = _places(Mutant(module, "", "", 0).file).values()
        # Elements of tables, such as rows that all must hold, stand in no order; where they do, tests say so.
        found = (at for at in every if at.rule in WHOLE_MODULES and (at.function, at.rule) != ("<module>", "swap"))
        yield from (Mutant(module, at.function, at.rule, at.number) for at in found)


@cache
def _places(file: Path) -> dict[tuple[str, str, int], Place]:
    return {(place.function, place.rule, place.number): place for place in places((ROOT / file).read_text())}
