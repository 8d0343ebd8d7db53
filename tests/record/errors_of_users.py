"""Exceptions as users write them; imported by the tests and by the fresh process they start."""

from dataclasses import dataclass


class KeywordOnly(Exception):
    def __init__(self, *, code, detail="none"):
        super().__init__(f"code {code}: {detail}")
        self.code = code
        self.detail = detail


class Formatted(Exception):
    def __init__(self, what, amount):
        super().__init__(what, amount)
        self.amount = amount

    def __str__(self):
        return f"{self.args[0]} costs {self.amount:.2f}"


class Slotted(Exception):
    __slots__ = ("empty", "reason")

    def __init__(self, reason):
        super().__init__()
        self.reason = reason

    def __str__(self):
        return f"because {self.reason}"


class Unencodable(Exception):
    def __init__(self, connection):
        super().__init__("lost", connection)
        self.connection = connection


class Strict(Exception):
    def __new__(cls, *args):
        if len(args) != 2:
            raise TypeError("two or nothing")
        return super().__new__(cls, *args)

    def __init__(self, a, b):
        super().__init__(f"{a}/{b}")


class Hostile(Exception):
    def __str__(self):
        raise RuntimeError("no text for you")

    __repr__ = __str__


class Killer(Exception):
    def __str__(self):
        raise SystemExit(3)

    @property
    def __dict__(self):
        raise SystemExit(4)


class Guarded(Exception):
    def __getattribute__(self, name):
        if name in ("args", "__cause__", "__notes__"):
            raise KeyError(name)
        return super().__getattribute__(name)


class Meta(type):
    @property
    def __module__(cls):
        raise ZeroDivisionError

    def __instancecheck__(cls, value):
        raise ZeroDivisionError


class Nameless(Exception, metaclass=Meta):
    pass


class Frozen(Exception):
    __notes__ = 3

    def __setattr__(self, name, value):
        raise AttributeError(name)


class ManyErrors(ExceptionGroup):
    def __new__(cls, message, errors, extra=0):
        self = super().__new__(cls, message, errors)
        self.extra = extra
        return self

    def derive(self, errors):
        return ManyErrors(self.message, errors, self.extra)


@dataclass
class DataError(Exception):
    code: int
    text: str = "x"

    __hash__ = Exception.__hash__


class Host(OSError):
    def __init__(self, *, port):
        super().__init__(111, "refused", "host")
        self.port = port


class Outer:
    class Inner(ValueError):
        pass


def raised(exc, cause=None):
    try:
        raise exc from cause
    except BaseException as caught:
        return caught


def build():
    """Every kind by name, raised."""
    keyword = raised(KeywordOnly(code=7))
    noted = raised(Formatted("tea", 2.5), ValueError("cause"))
    noted.add_note("a note")
    try:
        try:
            raise KeyError("first")
        except KeyError:
            raise LookupError("second")  # noqa: B904 - the context is the point
    except LookupError as caught:
        context = caught
    try:
        b"\xff".decode()
    except UnicodeDecodeError as caught:
        unicode_error = caught
    return {
        "keyword": keyword,
        "formatted": noted,
        "slotted": raised(Slotted("of rain")),
        "unencodable": raised(Unencodable(object())),
        "strict": raised(Strict(1, 2)),
        "data": raised(DataError(3)),
        "host": raised(Host(port=80)),
        "inner": raised(Outer.Inner(1, (2, 3))),
        "context": context,
        "missing": raised(FileNotFoundError(2, "No such file", "/nope")),
        "unicode": unicode_error,
        "import": raised(ModuleNotFoundError("no x", name="x", path="/p")),
        "key": raised(KeyError("k")),
        "group": raised(
            ExceptionGroup("many", [KeywordOnly(code=1), ExceptionGroup("deep", [Slotted("x")])])
        ),
        "own group": raised(ManyErrors("mine", [ValueError(1)], 5)),
        "syntax": raised(SyntaxError("bad", ("f.py", 1, 2, "x ="))),
        "timeout": raised(TimeoutError()),
    }
