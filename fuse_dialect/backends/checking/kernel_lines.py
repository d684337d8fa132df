"""The lines of LLVM IR that kernels are made of, as patterns, and the functions that check accesses."""

import re

_BITS = {"i1": 8, "half": 16, "bfloat": 16, "float": 32, "double": 64, "ptr": 64}
DEFINE = re.compile(r"define (internal )?(.+?) @([\w.$]+)\((.*)\)(.*)\{$")
GLOBAL = re.compile(r"(@[\w.$]+) = private unnamed_addr constant \[(\d+) x ([\w ]+)\]")
VALUE = re.compile(r"  (%[\w.]+) = (.*)$")
LOAD = re.compile(r"load (?:volatile )?(<\d+ x \w+>|\w+), ptr (%[\w.]+|@[\w.]+)")
ADDRESS = re.compile(r"getelementptr (?:inbounds )?(<\d+ x \w+>|\w+), (?:ptr|<\d+ x ptr>) (%[\w.]+|@[\w.]+), (.*)$")
PHI = re.compile(r"phi ptr (.*)$")
PHI_SOURCE = re.compile(r"\[ (%[\w.]+), (%[\w.]+) \]")
SELECT = re.compile(r"select (.+?), ptr (%[\w.]+), ptr (%[\w.]+)$")
ALLOCA = re.compile(r"alloca (\w+), i64 (\d+)")
CALL = re.compile(r"call (?:\w+ )*?(<\d+ x \w+>|\w+) @([\w.$]+)\((.*)\)")
VECTOR = re.compile(r"<(\d+) x (\w+)>")
DECLARATIONS = (
    "declare i64 @llvm.cttz.i64(i64, i1)",
    "declare i64 @llvm.ctlz.i64(i64, i1)",
    "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
)
CHECKS = """\
define internal void @fuse.check(i64 %low, i64 %high, i64 %at, i64 %bytes, i64 %site) noinline nounwind {
  %some = icmp ne i64 %bytes, 0
  %end = add i64 %at, %bytes
  %before = icmp ult i64 %at, %low
  %behind = icmp ugt i64 %end, %high
  %outside = or i1 %before, %behind
  %bad = and i1 %some, %outside
  br i1 %bad, label %report, label %done
report:
  %words = inttoptr i64 {report} to ptr
  %count = atomicrmw add ptr %words, i64 1 monotonic
  %first = icmp eq i64 %count, 0
  br i1 %first, label %note, label %done
note:
  %w1 = getelementptr i64, ptr %words, i64 1
  %w2 = getelementptr i64, ptr %words, i64 2
  %w3 = getelementptr i64, ptr %words, i64 3
  %w4 = getelementptr i64, ptr %words, i64 4
  %start = sub i64 %at, %low
  %room = sub i64 %high, %low
  store i64 %site, ptr %w1
  store i64 %start, ptr %w2
  store i64 %bytes, ptr %w3
  store i64 %room, ptr %w4
  br label %done
done:
  ret void
}

define internal void @fuse.lanes(i64 %low, i64 %high, i64 %at, i64 %bytes, i64 %mask, i64 %site) noinline nounwind {
  %none = icmp eq i64 %mask, 0
  br i1 %none, label %done, label %some
some:
  %first = call i64 @llvm.cttz.i64(i64 %mask, i1 true)
  %above = call i64 @llvm.ctlz.i64(i64 %mask, i1 true)
  %behind = sub i64 64, %above
  %skipped = mul i64 %first, %bytes
  %begin = add i64 %at, %skipped
  %count = sub i64 %behind, %first
  %size = mul i64 %count, %bytes
  call void @fuse.check(i64 %low, i64 %high, i64 %begin, i64 %size, i64 %site)
  br label %done
done:
  ret void
}
"""


def bytes_of(type: str) -> int:
    """Bytes of a type in memory."""
    if vector := VECTOR.match(type):
        return int(vector[1]) * bytes_of(vector[2])
    return (_BITS[type] if type in _BITS else int(type[1:])) // 8


def type_of(value: str) -> str:
    """The type in front of a value."""
    vector = VECTOR.match(value)
    return vector[0] if vector else value.partition(" ")[0]


def listed(text: str) -> list[str]:
    """What stands between the commas of a list, those in brackets left out."""
    parts: list[str] = []
    depth = start = 0
    for place, letter in enumerate(text):
        if letter in "(<[{":
            depth += 1
        elif letter in ")>]}":
            depth -= 1
        elif letter == "," and not depth:
            parts.append(text[start:place].strip())
            start = place + 1
    rest = text[start:].strip()
    return [*parts, rest] if rest else parts
