"""Messages with dates, times of day and decimals, of which some are wrong."""

IMPORTS = "".join(
    f'import "{path}";\n'
    for path in (
        "confluent/type/decimal.proto",
        "google/type/date.proto",
        "google/type/timeofday.proto",
        "google/type/decimal.proto",
    )
)
TYPES = ("google.type.Date", "google.type.TimeOfDay", "confluent.type.Decimal", "google.type.Decimal")
FIELDS = "".join(
    f"{name} one{number} = {number}; repeated {name} many{number} = 1{number}; "
    f"map<string, {name}> by{number} = 2{number};\n"
    for number, name in enumerate(TYPES, 1)
)
#: The same messages, as messages.
PLAIN = {"well_known": ()}


def drawn_date(r):
    return {"year": r.choice([0, 1, 1900, 2000, 2024, 9999, 10000, r.randint(1, 9999)]), "month": r.randint(0, 13),
            "day": r.randint(0, 32) if r.random() < 0.3 else r.randint(28, 31)}  # fmt: skip


def drawn_time(r):
    return {"hours": r.randint(0, 24), "minutes": r.randint(0, 60), "seconds": r.randint(0, 60),
            "nanos": r.choice([0, 1, 1000, 999_999_000, 999_999_999, 10**9, -1])}  # fmt: skip


def drawn_decimal(r):
    size = r.choice([0, 1, 1, 4, 8, 16, 17, 40, 1700, 1800])
    return {"value": r.randbytes(size), "precision": r.randint(0, 40),
            "scale": r.choice([0, 2, 2, 2, 5, 40, -3, 1000, 1001, -2000])}  # fmt: skip


def drawn_number(r):
    return {"value": r.choice(["1.5", "-0", "x", "", "1e3"])}


DRAWN = (drawn_date, drawn_time, drawn_decimal, drawn_number)


def messages(r, usual):
    """Draw rows of messages; all are as usual, or any."""
    few = [make(r) for make in DRAWN]
    few[0] |= {"month": 2, "day": 28, "year": r.randint(1, 9999)}
    few[1] = {"hours": 23, "minutes": r.randint(0, 59), "seconds": 59, "nanos": r.randint(0, 999_999) * 1000}
    few[2] = {"value": r.randbytes(r.randint(1, 16)), "precision": 5, "scale": r.choice([0, 2, 30])}
    rows = []
    for _ in range(r.randint(1, 60)):
        row = {}
        for number, make in enumerate(DRAWN, 1):
            draw = (lambda number=number: few[number - 1]) if usual else (lambda make=make: make(r))
            if r.random() < 0.8:
                row[f"one{number}"] = draw()
            row[f"many{number}"] = [draw() for _ in range(r.randint(0, 3))]
            row[f"by{number}"] = [(f"k{key}", draw()) for key in range(r.randint(0, 2))]
        rows.append(row)
    return rows
