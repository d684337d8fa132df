"""What the package says of its work, by the standard `logging`: one logger a topic, silent unless somebody listens.

1. Loggers are `fuse_dialect.<topic>`. At INFO they say what was done, at DEBUG each kernel of it. The root logger is
   never touched. At WARNING they say what will be slow, or is not as asked for.
2. `FUSE_LOG=fusion,compile` writes topics to standard error, `+compile` at DEBUG too, `all` and `+all` every topic.
   Where the program has handlers of its own above a topic, records go to these alone, so that nothing comes twice.
3. Without a listener nothing is computed, and `logging` is not imported: who has not imported it does not listen.
"""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logging import Logger

VARIABLE = "FUSE_LOG"
ALL = "all"
FUSION = "fusion"
COMPILE = "compile"
SIZES = "sizes"
PYTORCH = "pytorch"
TOPICS = {
    FUSION: "operators that were planned, and the kernels that they become",
    COMPILE: "programs that were compiled or came from the cache: kernels, seconds and bytes",
    SIZES: "sizes that programs of open sizes were compiled for beside calls",
    PYTORCH: "graphs of `torch.compile`: what programs run, and what stays PyTorch's",
}
"""What there is to hear of."""
_PACKAGE = "fuse_dialect"


def heard(topic: str, *, in_detail: bool = False) -> "Logger | None":
    """The logger of a topic if somebody listens to it, else `None`.

    Args:
        topic: One of `TOPICS`.
        in_detail: Whether DEBUG is asked for rather than INFO.
    """
    if "logging" not in sys.modules:  # condition 3
        return None
    import logging  # another thread may be about to: this waits until all of it is there

    logger = logging.getLogger(f"{_PACKAGE}.{topic}")
    return logger if logger.isEnabledFor(logging.DEBUG if in_detail else logging.INFO) else None


def warn(topic: str, message: str, *values: object) -> None:
    """Warn of something by the logger of a topic; Python shows it where the program has not configured logging.

    Args:
        topic: One of `TOPICS`.
        message: Has a place, `%s`, for each of the values.
        values: As `logging` takes them.
    """
    import logging

    logging.getLogger(f"{_PACKAGE}.{topic}").warning(message, *values)


def listen(asked: str) -> None:
    """Write topics to standard error, as the variable `FUSE_LOG` asks for.

    Args:
        asked: Topics, separated by commas; with `+` in front at DEBUG. An unknown one is a warning.
    """
    import logging

    # A handler writes what its program has not taken itself (2).
    class ToStandardError(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            try:
                if not logging.root.handlers and not logging.getLogger(_PACKAGE).handlers:
                    # The stream of now: tests and notebooks replace it.
                    sys.stderr.write(f"{self.format(record)}\n")
            except Exception:
                self.handleError(record)

    for word in filter(None, map(str.strip, asked.split(","))):
        level, name = (logging.DEBUG, word[1:]) if word.startswith("+") else (logging.INFO, word)
        if name != ALL and name not in TOPICS:
            known = ", ".join((*TOPICS, ALL))
            logging.getLogger(_PACKAGE).warning("%s has no topic '%s': there are %s", VARIABLE, name, known)
            continue
        for topic in TOPICS if name == ALL else (name,):
            logger = logging.getLogger(f"{_PACKAGE}.{topic}")
            logger.setLevel(min(level, logger.level or level))
            if not logger.handlers:
                handler = ToStandardError()
                handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
                logger.addHandler(handler)
