"""What random programs must have: a run of many counts these, and fails if one never occurs. They are looked for in the program's text and in the options of the runs that were
carried out, so that a feature counts only if it came to something."""
import re

from model import EXTENT

TYPES = ["f16", "bf16", "f32", "f64", "real", "i8", "i16", "u8", "u16", "i32", "i64", "bool"]

# An init of a field, and one of another field that reads the first one about the point.
CHAIN = r"(?m)^init \w+\((\w)\)(.|\n)*^init \w+\((?!\1)(\w)\).*\b\1\[[^\]]*[1-9]"

# Name of the feature: what is found in the text of a program that has it.
TEXT = {
    **{f"field of {t}": rf"field \w+ : {t} " for t in TYPES},
    "vector": r"field \w+ : \w+\[\d\] ",
    "vector of vectors or structs": r"field \w+ : (\w+\[\d\]|S\d+)\[\d\]",
    "struct": r"field \w+ : S\d+ ",
    "struct in a struct": r"struct S\d+ \{[^}]*: S\d+",
    "stored member": r"struct S\d+ \{[^}]*: (f16|bf16|i8|i16|u8|u16)",
    **{f"outside {rule}": f"outside {rule}" for rule in ("clamp", "mirror", "periodic")},
    "outside a constant": r"outside [-\d]",
    "no outside": r"(?m)^field (?!.*outside)",
    "staggered field": r"field [^;]* on \[",
    "input field": r"field [^;]* input",
    "temp field": r"field [^;]* temp",
    "temp field with outside": r"field (?=[^;]* temp)[^;]* outside",
    "temp field written in pieces": r"field (\w+) [^;]* temp[^;]*;(.|\n)*stencil \w+\(\1\) \{\n",
    "temp field written in part": r"field (\w+) [^;]* temp[^;]*;(.|\n)*stencil \w+\(\1\)(.|\n)*stencil \w+\(\1\)",
    "piece of a constant empty region": r"(?m)^  \[[^\]]*\b(4 \.\. 3|7 \.\. 6|12 \.\. 11)\b",
    "init of a constant empty region": r"(?m)^init [^\[{]*\[[^\]]*\b(4 \.\. 3|7 \.\. 6|12 \.\. 11)\b",
    "reduction over a constant empty region": r"(?m)^(reduce|until) .*\b(4 \.\. 3|7 \.\. 6|12 \.\. 11)\b",
    "hard literal of f16": r"1\.000488281[^)\n]*",
    "hard literal of bf16": r"1\.00390625[0-9]*[1-9]",
    "hard literal beyond the edge": r"outside -?[12]\.0[0-9]{6}",
    "f64 to f16": r"f16\((f64|max\(f64)",
    "f64 to bf16": r"bf16\((f64|max\(f64)",
    "i32 to f16": r"\bf16\((i32|max\(i32)",
    "i32 to bf16": r"bf16\((i32|max\(i32)",
    "i64 to f16": r"\bf16\((i64|max\(i64)",
    "i64 to bf16": r"bf16\((i64|max\(i64)",
    "constant extents": r"(?m)^grid G = \[[^NML\]]*\]",
    "temp field in a piece that reads no field": r"field (\w+) [^;]* temp[^;]*;(.|\n)*stencil \w+\(\1\) \{\n(.*\n)*?  \[[^\]]*\] = [^A-E\n]*;",
    "thin field": r"(?m)^field [^;]* on \[(.*, )?-?\d+ \.\. -?\d+(,|\])",
    "table of one value at a variable index": r"const (w\d+)\[1\](.|\n)*\b\1\[(A|B|C|D|E|idx|v|x)",
    "table in a table's index": r"\bw\d+\[w\d+\[",
    "extents that only -D makes valid": r"param N( = 0| = -3| : i64)",
    "bounds that only -D makes valid": r"param k1( = 100| : i64| = -1)",
    "history": "history 1",
    "history 2 and more": r"history [2-9]",
    "init": r"init \w+\(\w\)",
    "init of an older level": r"init \w+\(\w@",
    "init in pieces": r"init \w+\(\S+\) \{\n",
    "init of two targets": r"init \w+\(\S+, \S+\)",
    "init that reads a neighbour": r"(?m)^init .*\b[A-E](@\d)?\[[^\]]*[1-9]",
    "init that reads an older level": r"(?m)^init [^=]*=.*[A-E]@\d",
    "init that reads a neighbour of what an init set": CHAIN,
    "chain of three inits": CHAIN + r"(.|\n)*^init .*\b\3\[[^\]]*[1-9]",
    "init that looks about a periodic field": r"(?m)^field (\w) [^;]*outside periodic(.|\n)*^init .*\b\1\[[^\]]*[1-9]",
    "inject that reads a neighbour": r"(?m)^inject .*\b[A-E](@\d)?\[[^\]]*[1-9]",
    "two targets": r"stencil \w+\(\w, \w\)",
    "pieces": r"stencil \w+\([^)]*\) \{\n",
    "named region": r"\) *\[[A-Z]\d*\]",
    "param in a bound": r"(\+|-) k[12]\b",
    "quotient or remainder in a bound": r"(\+|-) \d?k?[1235] [/%] k?2",
    "minimum or maximum in a bound": r"(\+|-) (min|max)\(k1, k2\)",
    "steps of a param": r"(?m)^grid .*\bnt\b",
    "scalar param": "param p0",
    "const": r"const c\d+ :",
    "let at launch": r"(?m)^let ",
    "let": r"[{;] *let ",
    "table": r"const w\d+\[",
    "table at a variable index": r"w\d+\[(A|B|C|D|E|idx|v|x)",
    "op": r"(?m)^op ",
    "op of a let": r"m\d+\((.{0,40}\W)?v\d+",
    "op in an argument of another": r"m\d+\([^;]{0,10}\bm\d+\(",
    "op of an older level": r"(?m)^op .*@[^;]*;\n(.|\n)*history",
    "op of two": r"(?m)^op \w+\(X, Y\)",
    "difference of fluxes": r"(?m)^op m\d+\(X\) = m\d+\(X\) - m\d+\(X",
    "op at a neighbour": r"\bm\d+\([^;]*\)\[-?\d",
    "op with an offset": r"(?m)^op \w+\(X, r\d+\)",
    "fn": r"(?m)^fn ",
    "fn with statements": r"(?m)^fn [^{]*\{ *(var|let)",
    "fn of vectors or structs": r"(?m)^fn \w+\([^)]*(\]|S\d+)",
    "var": r"var y\d+",
    "part of a var": r"; y\d+(\[|\.)[^;=]* = ",
    "for": r"for \(j\d+ in",
    "if": r"if [^{;]* \{",
    "else": r"\} else \{",
    "for in a stencil": r"(?m)^(stencil|  \[).*for \(",
    "if in a stencil": r"(?m)^(stencil|  \[).*[;{}] if ",
    **{f"{word} over offsets": rf"{word}\(r\d+ in" for word in ("sum", "prod", "min", "max")},
    "array": r"param a\d+\[",
    "element": r"= .*\ba\d+\[",
    **{f"reduce {word}": rf"(?m)^reduce \w+ = {word}" for word in ("sum", "prod", "min", "max")},
    "value of a reduction in a stencil": r"(?m)^(stencil|  \[).*\bt\d+\b",
    "until": r"(?m)^until ",
    "NaN in a reduction": r"(?m)^reduce .* / f\d\d\(0.0\) else",
    "older level in a reduction": r"(?m)^(reduce|until) .*@",
    "step": r"\bstep\b",
    "probe at a point": r"(?m)^probe [^;]* at \[[^c\]]*\]",
    "probe at a list": r"(?m)^probe [^;]* at \[[^\]]*c\d+",
    "probe every few steps": r"(?m)^probe [^;]* every [2-9];",
    "inject at a point": r"(?m)^inject [^;]* at \[[^c\]]*\]",
    "inject at a list": r"(?m)^inject [^;]* at \[[^\]]*c\d+",
    "inject that adds": r"(?m)^inject \w+\(\w\) \+=",
    "inject that sets": r"(?m)^inject \w+\(\w\) =",
    "inject of several at one place": r"(?m)^inject [^;]* up to [2-9];",
    "number of the point": r"(?m)^inject .*\bpoint\b",
    "points in a region": r"(?m)^(probe|inject) [^;]* at \[[^\]]*\] in ",
    "inject of a vector": r"field (\w) : \w+\[\d\](.|\n)*inject \w+\(\1\)",
}


def tiles(options):
    """The time steps a tile that are asked for, or 0."""
    return next((int(o[3:]) for o in options if o.startswith("-T=")), 0)


# Name of the feature: is it one of a case and one of its runs, whose options are given in a row?
RUN = {
    **{f"rank {rank}": lambda case, row, rank=rank: len(case.sizes) == rank for rank in (1, 2, 3)},
    "one point": lambda case, row: all(size == 1 for size in case.sizes),
    "one point in a dimension": lambda case, row: len(case.sizes) > 1 and 1 in case.sizes and max(case.sizes) > 1,
    "two points in a dimension": lambda case, row: 2 in case.sizes,
    "no step": lambda case, row: case.steps == 0,
    "steps that tiles do not divide": lambda case, row: tiles(row) > 1 and case.steps % tiles(row) != 0,
    "fewer steps than a tile": lambda case, row: 0 < case.steps < tiles(row),
    **{f"T of {t}": lambda case, row, t=t: tiles(row) == t for t in (1, 2, 3, 4, 5)},
    "probe in a tile": lambda case, row: tiles(row) > 1 and "probe " in case.tree.text(),
    "inject in a tile": lambda case, row: tiles(row) > 1 and "inject " in case.tree.text(),
    "probe in a walk": lambda case, row: "-schedule=stream" in row and tiles(row) > 1 and "probe " in case.tree.text(),
    "stages": lambda case, row: len(re.findall("(?m)^stencil", case.tree.text())) > 2,
    **{f"steps at edges, rank {rank}": lambda case, row, rank=rank: "-edges=steps" in row and len(case.sizes) == rank for rank in (1, 2)},
    "steps at edges of a stream": lambda case, row: "-edges=steps" in row and "-schedule=stream" in row,
    "naive": lambda case, row: "-schedule=naive" in row,
    "stream": lambda case, row: "-schedule=stream" in row,
    "stream of one thread": lambda case, row: "-schedule=stream" in row and "-march=host" in row,
    "stream of one thread on the host": lambda case, row: "-schedule=stream" in row and row[0] == "--device=host:2",
    "over warps, of rows of whole 16 bytes": lambda case, row: "-schedule=warps" in row and case.sizes[1] % 4 == 0,
    "over warps, of other rows": lambda case, row: "-schedule=warps" in row and case.sizes[1] % 4 != 0,
    "over warps, of rows of a constant extent": lambda case, row: "-schedule=warps" in row and case.constant,
    "over warps, with a temp field": lambda case, row: "-schedule=warps" in row and " temp" in case.tree.text(),
    "tiles in lanes": lambda case, row: "-tiles=lanes" in row,
    "tiles in lanes of several steps": lambda case, row: "-tiles=lanes" in row and tiles(row) > 1,
    "stream of several steps": lambda case, row: "-schedule=stream" in row and tiles(row) > 1,
    "stream in three dimensions": lambda case, row: "-schedule=stream" in row and len(case.sizes) == 3,
    "stream of fitted tiles": lambda case, row: "-tiles=fitted" in row,
    "stream without asynchronous copies": lambda case, row: "-schedule=stream" in row and "-mcpu=sm_75" in row,
    "stream with a cut": lambda case, row: "-schedule=stream" in row and any(re.match(r"-fuse=(none|.*,)", o) for o in row),
    "rows ahead": lambda case, row: any(re.match("-ahead=[2-9]", o) for o in row),
    "default schedule": lambda case, row: not any(o.startswith(("-schedule", "-T", "-block", "-fuse")) for o in row),
    "block": lambda case, row: any(o.startswith("-block") for o in row),
    "elems": lambda case, row: any(o.startswith("-elems") for o in row),
    "cut": lambda case, row: any(re.match(r"-fuse=.*,", o) for o in row),
    "cut of three launches": lambda case, row: any(re.match(r"-fuse=.*,.*,", o) for o in row),
    "cut with a shared launch": lambda case, row: any(re.match(r"-fuse=(.*,.*\+|.*\+.*,)", o) for o in row),
    "grid in parts": lambda case, row: any(re.match(r"--split=.*[2-9]", o) for o in row),
    "grid in parts along two dimensions": lambda case, row: any(re.match(r"--split=.*[2-9].*x.*[2-9]", o.split("/")[0]) for o in row),
    "chain of inits in parts": lambda case, row: re.search(CHAIN, case.tree.text()) is not None and any(re.match(r"--split=.*[2-9]", o) for o in row),
    "periodic grid in parts": lambda case, row: "outside periodic" in case.tree.text() and any(re.match(r"--split=.*[2-9]", o) for o in row),
    "reduction of a grid in parts": lambda case, row: re.search("(?m)^(reduce|until)", case.tree.text()) is not None and any(re.match(r"--split=.*[2-9]", o) for o in row),
    "parts that exchange after several steps": lambda case, row: any(re.match(r"--split=.*/[2-9]", o) for o in row),
    "fuse all": lambda case, row: "-fuse=all" in row,
    "fuse none": lambda case, row: "-fuse=none" in row,
    "check finite every step": lambda case, row: any(re.match("-fcheck=finite=1(,|$)", o) for o in row),
    "check finite now and then": lambda case, row: any(re.match("-fcheck=finite=[2-9]", o) for o in row),
    "check bounds": lambda case, row: any(re.match("-fcheck=.*bounds", o) for o in row),
    "real is f64": lambda case, row: "-freal=f64" in row,
    "param given": lambda case, row: any(o.startswith("-Dp") for o in row),
    "files at many steps": lambda case, row: case.steps > 62 and case.every == 1,
    "files at many steps, of a grid in parts": lambda case, row: case.steps > 62 and case.every > 0 and any(re.match(r"--split=.*[2-9]", o) for o in row),
    "first step behind many": lambda case, row: any(o.startswith("--first-step=") for o in row),
    "part of a field given": lambda case, row: any("." in name for name, _ in case.inputs),
    "older level given": lambda case, row: any("@" in name for name, _ in case.inputs),
}

# Name of the feature: what a run ended with that has it, "ok" or an error's text.
END = {
    "ended by check finite": "-fcheck=finite: field",
    "ended by check bounds": "-fcheck=bounds: an index",
    "ended by a NaN in until": "compares is NaN",
}
FEATURES = [*TEXT, *RUN, *END]
assert EXTENT[0] not in "ABCDE"


def features_of(case, rows, ends):
    """The features of a case, of whose runs those with the options in `rows` were carried out and ended with the texts `ends`."""
    text = case.tree.text()
    found = {name for name, pattern in TEXT.items() if re.search(pattern, text)}
    found |= {name for name, has in RUN.items() if any(has(case, row) for row in rows)}
    return found | {name for name, pattern in END.items() if any(re.search(pattern, end) for end in ends)}
