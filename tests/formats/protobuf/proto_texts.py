"""Random .proto texts that protoc takes."""

from hypothesis import strategies as st

SCALARS = ["double", "float", "bool", "string", "bytes"]
SCALARS += [f"{kind}{bits}" for kind in ("int", "uint", "sint", "fixed", "sfixed") for bits in (32, 64)]
KEYS = [each for each in SCALARS if each not in ("double", "float", "bytes")]


@st.composite
def proto_files(draw) -> str:
    """A file of messages and enums that nest and refer to each other."""
    syntax = draw(st.sampled_from(["proto2", "proto3", "2023"]))
    head = f'edition = "{syntax}";' if syntax == "2023" else f'syntax = "{syntax}";'
    package = draw(st.sampled_from(["", "a", "a.b", "M0"]))
    names = draw(st.lists(st.sampled_from(["M0", "M1", "M2", "a"]), min_size=1, max_size=3, unique=True))
    names = [each for each in names if each != package.split(".")[0]] or ["Mx"]
    types = [*names, *(f"{each}.Inner" for each in names), "E"]
    bodies = [draw(messages(name, types, syntax, 0)) for name in names]
    bodies.append("enum E { E_ZERO = 0; E_ONE = 1; E_NEG = -1; }")
    lines = [head, f"package {package};" if package else "", *draw(st.permutations(bodies))]
    return "\n".join(lines)


@st.composite
def messages(draw, name, types, syntax, depth) -> str:
    members = []
    numbers = draw(st.lists(st.integers(1, 3000), max_size=6, unique=True))
    for index, number in enumerate(numbers):
        members.append(
            draw(fields(f"f{index}_{draw(st.sampled_from(['a', 'B_c', '']))}", number, types, syntax))
        )
    if depth == 0:
        members.append(draw(messages("Inner", types, syntax, 1)))
    if draw(st.booleans()):
        kind = draw(st.sampled_from([*SCALARS, *types]))
        members.append(f"oneof one {{ {kind} x_ = 4001; string y_ = 4002 [deprecated = true]; }}")
    if draw(st.booleans()):
        members.append(
            'reserved 5000 to 5100, 6000; reserved "gone";' if syntax != "2023" else "reserved gone;"
        )
    members = draw(st.permutations(members))
    return f"message {name} {{ {' '.join(members)} }}"


@st.composite
def fields(draw, name, number, types, syntax) -> str:
    shape = draw(st.sampled_from(["single", "optional", "repeated", "map", "group"]))
    kind = draw(st.sampled_from([*SCALARS, *types]))
    if shape == "map":
        return f"map<{draw(st.sampled_from(KEYS))}, {kind}> {name} = {number};"
    if shape == "group" and syntax == "proto2":
        return f"repeated group G{name} = {number} {{ optional {kind} in = 1; }}"
    if shape == "repeated":
        packed = kind in SCALARS and kind not in ("string", "bytes") and syntax != "2023"
        option = draw(st.sampled_from(["", " [packed = true]", " [packed = false]"])) if packed else ""
        return f"repeated {kind} {name} = {number}{option};"
    label = "" if syntax == "2023" or (syntax == "proto3" and shape != "optional") else "optional "
    option = draw(st.sampled_from(["", ' [json_name = "other"]', " [deprecated = true]"]))
    option = option.replace("other", f"other{number}")
    return f"{label}{kind} {name} = {number}{option};"
