"""Regular expressions of Java, as schemas have them, written with what those of ECMA 262 have."""

import re
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from kcodec.errors import SchemaError

#: Classes in classes, and groups in groups.
_MAX_NESTING = 50
_MAX_GROUPS = 300

#: Characters that mean something: outside of classes, and within them.
_SPECIAL = frozenset("\\^$.|?*+()[]{}/-&")

_LINE_END = r"(?:\r\n|[\n\r\u0085\u2028\u2029])"
_ANY = r"[\s\S]"
_NO_LINE_END = r"[^\n\r\u2028\u2029]"

#: What stands for one of several characters, as the inside of a class. The first two are those of ECMA 262 too, but the
#: library takes letters and digits of all scripts for them where an expression refers to a group or looks around.
_SETS = {
    "d": "0-9",
    "w": "a-zA-Z0-9_",
    "h": r" \t\xA0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000",
    "v": r"\n\x0B\f\r\u0085\u2028\u2029",
}
_CHARACTERS = {"a": "\x07", "e": "\x1b"}

#: Classes of ``\p{...}`` that are of ASCII only, and others that Java has a name of its own for.
_PROPERTIES = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7F",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-\/:-@\[-`\{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1F\x7F",
    "XDigit": "0-9a-fA-F",
    "Space": r" \t\n\x0B\f\r",
    "L1": r"\x00-\xFF",
    "all": r"\s\S",
    "LD": r"\p{L}\p{Nd}",
    "javaLowerCase": r"\p{Lowercase}",
    "javaUpperCase": r"\p{Uppercase}",
    "javaTitleCase": r"\p{Lt}",
    "javaAlphabetic": r"\p{Alphabetic}",
    "javaIdeographic": r"\p{Ideographic}",
    "javaLetter": r"\p{L}",
    "javaDigit": r"\p{Nd}",
    "javaLetterOrDigit": r"\p{L}\p{Nd}",
}

#: What may stand behind ``Is``, in any case, beside categories and scripts.
_BINARY = {
    "ALPHABETIC": r"\p{Alphabetic}",
    "IDEOGRAPHIC": r"\p{Ideographic}",
    "LETTER": r"\p{L}",
    "LOWERCASE": r"\p{Lowercase}",
    "UPPERCASE": r"\p{Uppercase}",
    "TITLECASE": r"\p{Lt}",
    "WHITE_SPACE": r"\p{White_Space}",
    "CONTROL": r"\p{Cc}",
    "PUNCTUATION": r"\p{P}",
    "DIGIT": r"\p{Nd}",
    "ALNUM": r"\p{Alphabetic}\p{Nd}",
}

_QUANTIFIER = re.compile(r"[*+?]|\{[0-9]+(?:,[0-9]*)?\}")
_FLAGS = re.compile(r"\(\?([A-Za-z]*)(?:-([A-Za-z]*))?([:)])")
_OPENING = re.compile(r"\(\?(?:[:=!]|<[=!])")
_LOOKING = re.compile(r"\(\?<?[=!]")
_NAMED = re.compile(r"\(\?<([A-Za-z][A-Za-z0-9]*)>")
_PROPERTY = re.compile(r"\\([pP])(?:\{([^}]*)\}|([A-Za-z]))")
_OCTAL = re.compile(r"\\0([0-3][0-7]{2}|[0-7]{1,2})")
_HEXADECIMAL = re.compile(r"\\x\{([0-9A-Fa-f]{1,8})\}")
_CONTROL = re.compile(r"\\c(.)", re.DOTALL)
_REFERENCE = re.compile(r"\\k<([^>]*)>")
_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|.)", re.DOTALL)
_GENERAL = re.compile(r"[A-Z][a-z]?|LC")


class _Group(NamedTuple):
    """The opening of a capturing group: its number in the pattern as it is written, 0 for one of ours."""

    own: int
    name: int


class _Back(NamedTuple):
    """What a group matched."""

    name: int


class _Frame:
    """A group that is open: where it starts, whether its surroundings have the flag s, what ends it, flags in it."""

    def __init__(self, start: int, is_all: bool, end: Sequence[str | _Back] = (")",)) -> None:
        self.start = start
        self.is_all = is_all
        self.end = end
        self.flags: list[str] = []


def translated(pattern: str) -> str:
    r"""Return a regular expression of Java in the syntax of ECMA 262, as the validator takes it.

    Whatever means the same in both stays as it is; where nothing means the same, it is a `SchemaError`.

    >>> translated(r"^[\w-.]+@\p{Alpha}++\Z$") == (
    ...     r"^[a-zA-Z0-9_\-\.]+@(?=([a-zA-Z]+))\1(?=(?:\r\n|[\n\r\u0085\u2028\u2029])?$)$"
    ... )
    True
    >>> translated("^(?i)yes|no$"), translated("[a-z&&[^aeiou]]"), translated("^[a-z]+$")
    ('^(?i:yes)|(?i:no$)', '(?:(?=[a-z])(?:[^aeiou]))', '^[a-z]+$')
    """
    return _Translation(pattern).run()


class _Translation:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.out: list[str | _Group | _Back] = []
        #: Where the last atom starts in what is written: what a quantifier repeats.
        self.atom = 0
        self.frames = [_Frame(0, False)]
        self.names: dict[str, int] = {}
        #: Capturing groups of the pattern so far, by number, and how many there are with ours.
        self.groups = [0]
        self.made = 0
        #: Whether anything is of Java only.
        self.is_java = False
        self.has_lines = False
        #: Whether a dot is any character here.
        self.is_all = False

    def run(self) -> str:
        pattern = self.pattern
        while self.at < len(pattern):
            character = pattern[self.at]
            quantifier = _QUANTIFIER.match(pattern, self.at)
            if quantifier:
                self.quantifier(quantifier[0])
            elif character == "\\":
                self.escape()
            elif character == "[":
                self.at += 1
                self.put(self.character_class())
            elif character == "(":
                self.opening()
            elif character == ")":
                self.closing()
            elif character == "|":
                self.at += 1
                flags = self.frames[-1].flags
                self.out.append(")" * len(flags) + "|" + "".join(flags))
                self.atom = len(self.out)
            elif character == ".":
                self.at += 1
                self.put(_ANY if self.is_all else _NO_LINE_END)
            else:
                self.at += 1
                self.put(character)
        self.out.append(")" * sum(len(frame.flags) for frame in self.frames))
        return self.numbered() if self.is_java else pattern

    def numbered(self) -> str:
        """Return the text, with groups numbered in the order in which they open."""
        numbers: dict[int, int] = {}
        for part in self.out:
            if isinstance(part, _Group):
                numbers[part.name] = len(numbers) + 1
        texts = []
        for part, following in zip(self.out, [*self.out[1:], ""], strict=True):
            if isinstance(part, _Group):
                texts.append("(")
            elif isinstance(part, _Back):
                number = f"\\{numbers[part.name]}"
                texts.append(f"(?:{number})" if str(following)[:1].isdigit() else number)
            else:
                texts.append(part)
        return "".join(texts)

    def put(self, text: str | _Back) -> None:
        self.atom = len(self.out)
        self.out.append(text)

    def java(self, text: str | _Back) -> None:
        self.is_java = True
        self.put(text)

    def refuse(self, what: str) -> NoReturn:
        raise SchemaError(f"the regular expression {self.pattern!r}: there is nothing in ECMA 262 for {what}")

    def group(self, own: bool) -> _Group:
        self.made += 1
        if own:
            self.groups.append(self.made)
        return _Group(len(self.groups) - 1 if own else 0, self.made)

    def opening(self) -> None:
        pattern = self.pattern
        start = len(self.out)
        if len(self.frames) > _MAX_GROUPS:
            self.refuse("the nesting of groups")
        frame = _Frame(start, self.is_all)
        if pattern.startswith("(?>", self.at):
            # What looks ahead is not tried again either.
            self.is_java = True
            self.at += 3
            group = self.group(own=False)
            self.out += ["(?=", group]
            frame = _Frame(start, self.is_all, ("))", _Back(group.name)))
        elif named := _NAMED.match(pattern, self.at):
            self.is_java = True
            self.at = named.end()
            group = self.group(own=True)
            self.names.setdefault(named[1], group.name)
            self.out.append(group)
        elif plain := _OPENING.match(pattern, self.at):
            self.at = plain.end()
            self.is_java |= plain[0] != "(?:"
            self.out.append(plain[0])
        elif pattern.startswith("(?", self.at):
            self.flags()
            return
        else:
            self.at += 1
            self.out.append(self.group(own=True))
        self.frames.append(frame)
        self.atom = len(self.out)

    def flags(self) -> None:
        found = _FLAGS.match(self.pattern, self.at)
        if found is None:
            self.refuse(self.pattern[self.at : self.at + 4])
        self.at = found.end()
        on, off = (set(letters or "") for letters in found.group(1, 2))
        if (on | off) - set("imsu") or on & off:
            self.refuse(found[0])
        if found[3] == ":":
            self.frames.append(_Frame(len(self.out), self.is_all))
        self.has_lines |= "m" in on
        self.is_all = "s" in on or (self.is_all and "s" not in off)
        # Letters of all scripts are compared without case anyway, and dots are written as what they mean.
        on -= {"s", "u"}
        off -= {"s", "u"}
        text = "(?" + "".join(sorted(on)) + ("-" + "".join(sorted(off)) if off else "") + ":"
        self.is_java |= found[3] == ")" or text != found[0]
        self.out.append(text)
        if found[3] == ")":
            self.frames[-1].flags.append(text)
        self.atom = len(self.out)

    def closing(self) -> None:
        self.at += 1
        if len(self.frames) == 1:
            self.put(")")
            return
        frame = self.frames.pop()
        self.is_all = frame.is_all
        if len(frame.end) > 1:
            self.hold(self.out[frame.start + 2 :])
        self.out += [")" * len(frame.flags), *frame.end]
        self.atom = frame.start

    def quantifier(self, text: str) -> None:
        self.at += len(text)
        following = self.pattern[self.at : self.at + 1]
        if any(isinstance(part, _Group) and not part.own for part in self.out[self.atom :]):
            self.refuse("the repetition of what gives nothing back")
        if following == "+":
            self.hold(self.out[self.atom :])
            self.is_java = True
            self.at += 1
            group = self.group(own=False)
            self.out[self.atom :] = ["(?=", group, *self.out[self.atom :], text, "))", _Back(group.name)]
            return
        if following == "?":
            self.at += 1
            text += "?"
        self.out.append(text)

    def hold(self, parts: Sequence[str | _Group | _Back]) -> None:
        """Refuse an expression that cannot be put into a lookahead, because it looks around itself."""
        for part in parts:
            if isinstance(part, _Back) or (isinstance(part, str) and _LOOKING.search(part)):
                self.refuse("looking around, or to a group, in what gives nothing back")

    def escape(self) -> None:
        """Write what a backslash begins, outside of classes."""
        pattern = self.pattern
        letter = pattern[self.at + 1 : self.at + 2]
        if letter == "Q":
            end = pattern.find("\\E", self.at)
            text = pattern[self.at + 2 : None if end < 0 else end]
            self.at = len(pattern) if end < 0 else end + 2
            self.is_java = True
            for character in text:
                self.put(_literal(character))
        elif letter in ("A", "z", "Z"):
            self.at += 2
            first, last = (rf"(?<!{_ANY})", rf"(?!{_ANY})") if self.has_lines else ("^", "$")
            self.java({"A": first, "z": last, "Z": f"(?={_LINE_END}?{last})"}[letter])
        elif letter == "R":
            self.at += 2
            self.java(r"(?:\r\n|(?!\r\n)[\n\x0B\f\r\u0085\u2028\u2029])")
        elif reference := _REFERENCE.match(pattern, self.at):
            self.at = reference.end()
            if reference[1] not in self.names:
                self.refuse(reference[0])
            self.java(_Back(self.names[reference[1]]))
        elif letter.isdecimal() and letter.isascii() and letter != "0":
            self.at += 2
            group = int(letter)
            while self.at < len(pattern) and pattern[self.at] in "0123456789":
                if group * 10 + int(pattern[self.at]) >= len(self.groups):
                    break
                group = group * 10 + int(pattern[self.at])
                self.at += 1
            if group >= len(self.groups):
                self.java("(?!)")
            else:
                self.java(_Back(self.groups[group]))
        elif pattern.startswith("\\b{", self.at) or letter in ("G", "X", "N"):
            self.refuse(pattern[self.at : self.at + 2])
        elif found := self.property():
            self.put(f"[{'^' if found[1] else ''}{found[0]}]")
        else:
            self.put(self.character())

    def property(self) -> tuple[str, bool] | None:
        """Read the escape of a class: what is in it, and whether it is negated."""
        pattern = self.pattern
        letter = pattern[self.at + 1 : self.at + 2]
        if letter and letter in "hHVdDwW":
            self.at += 2
            self.is_java |= letter in "hHV"
            return _SETS[letter.lower()], letter.isupper()
        if letter and letter in "sS":
            self.at += 2
            return f"\\{letter}", False
        found = _PROPERTY.match(pattern, self.at)
        if found is None:
            return None
        self.at = found.end()
        negated, name = found[1] == "P", found[3] if found[2] is None else found[2]
        inside = self.named_class(name, found[0])
        self.is_java |= inside != f"\\p{{{name}}}" or not found[2]
        return inside, negated

    def named_class(self, name: str, whole: str) -> str:
        key, equals, value = name.partition("=")
        if name in _PROPERTIES:
            return _PROPERTIES[name]
        if name.startswith("Is"):
            rest = name[2:]
            if rest.upper() in _BINARY:
                return _BINARY[rest.upper()]
            return f"\\p{{{rest}}}" if _GENERAL.fullmatch(rest) else f"\\p{{Script={rest}}}"
        if equals and key.lower() in ("sc", "script"):
            return f"\\p{{Script={value}}}"
        if equals and key.lower() in ("gc", "general_category"):
            return f"\\p{{{value}}}"
        if name.startswith(("In", "java")) or (equals and key.lower() in ("blk", "block")):
            self.refuse(whole)
        return f"\\p{{{name}}}"

    def character(self) -> str:
        """Read an escape that is one character, and return what it is within and outside of classes."""
        pattern = self.pattern
        letter = pattern[self.at + 1 : self.at + 2]
        found: re.Match[str] | None
        if found := _OCTAL.match(pattern, self.at):
            code = int(found[1], 8)
        elif found := _HEXADECIMAL.match(pattern, self.at):
            code = int(found[1], 16)
        elif found := _CONTROL.match(pattern, self.at):
            code = ord(found[1]) ^ 64
        elif letter in _CHARACTERS:
            self.at += 2
            self.is_java = True
            return _literal(_CHARACTERS[letter])
        else:
            plain = _ESCAPE.match(pattern, self.at)
            text = plain[0] if plain else "\\"
            self.at += len(text)
            return text
        self.at = found.end()
        self.is_java = True
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            self.refuse(found[0])
        return _literal(chr(code))

    def character_class(self, depth: int = 1) -> str:
        """Read a class behind its bracket, and return what matches one of its characters.

        That is the class itself, and where ECMA 262 has no such class (classes in it, intersections) alternatives and
        looks ahead.
        """
        if depth > _MAX_NESTING:
            self.refuse("the nesting of classes")
        pattern = self.pattern
        negated = pattern.startswith("^", self.at)
        self.at += negated
        begin = self.at
        parts: list[str] = []
        inside = ""
        others: list[str] = []

        def union() -> str:
            whole = [f"[{inside}]"] if inside else []
            return whole[0] if whole and not others else f"(?:{'|'.join([*whole, *others])})"

        while True:
            character = pattern[self.at : self.at + 1]
            if not character:
                raise SchemaError(f"a class of the regular expression {pattern!r} has no end")
            if character == "]" and (self.at > begin):
                self.at += 1
                break
            if character == "[":
                self.is_java = True
                self.at += 1
                others.append(self.character_class(depth + 1))
            elif pattern.startswith("&&", self.at):
                self.is_java = True
                self.at += 2
                if (not inside and not others) or pattern.startswith("&", self.at):
                    self.refuse("an intersection with nothing")
                parts.append(union())
                inside, others = "", []
            else:
                if parts and others:
                    self.refuse("what stands behind a class of an intersection")
                one, is_set, excluded = self.member()
                if excluded:
                    others.append(f"[^{one}]")
                    continue
                following = pattern[self.at + 1 : self.at + 2]
                if pattern.startswith("-", self.at) and following not in ("", "]", "["):
                    if is_set:
                        self.is_java = True
                    else:
                        self.at += 1
                        until, is_set, excluded = self.member()
                        if is_set or excluded:
                            self.refuse("a range up to a class")
                        one += f"-{until}"
                inside += one
        if not inside and not others:
            self.refuse("an intersection with nothing")
        parts.append(union())
        if len(parts) == 1 and not others:
            return f"[{'^' if negated else ''}{inside}]"
        whole = "".join(f"(?={part})" for part in parts[:-1]) + parts[-1]
        return f"(?:(?!{whole}){_ANY})" if negated else f"(?:{whole})"

    def member(self) -> tuple[str, bool, bool]:
        """Read a part of a class: its text, whether it is a class itself, and whether that is negated."""
        pattern = self.pattern
        if pattern[self.at] != "\\":
            self.at += 1
            self.is_java |= pattern[self.at - 1] == "]"
            return _literal(pattern[self.at - 1]), False, False
        if pattern.startswith("\\Q", self.at):
            self.refuse("\\Q in a class")
        found = self.property()
        if found is None:
            return self.character(), False, False
        return found[0], True, found[1]


def _literal(character: str) -> str:
    """Return the escaped form of a literal character, within and outside of classes."""
    if character in _SPECIAL:
        return f"\\{character}"
    return character if character.isprintable() else f"\\u{{{ord(character):X}}}"
