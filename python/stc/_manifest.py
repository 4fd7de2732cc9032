"""Is a manifest one that can be launched from? Its keys are there, of the right types, and name things that there are."""
from __future__ import annotations

from typing import Any, Dict, Optional

TYPES = {"bool": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "f16": 2, "bf16": 2, "f32": 4, "f64": 8, "u8": 1, "u16": 2, "u32": 4}


class _Damaged(Exception):
    pass


def _number(least: int):
    def test(v: Any) -> bool:
        return isinstance(v, int) and not isinstance(v, bool) and least <= v < 2**63
    return test


def _one_of(*words: str):
    return lambda v: isinstance(v, str) and v in words


def _value(v: Any) -> bool:
    return v is None or isinstance(v, (bool, int, float)) or v in ("inf", "-inf", "nan")


def _factor(v: Any) -> bool:
    return v is not None and not isinstance(v, bool) and _value(v)


def _block(v: Any) -> bool:
    return isinstance(v, dict) and all(_number(1)(v.get(axis)) for axis in "xyz")


_text, _any, _type = (lambda v: isinstance(v, str)), _number(-2**63), _one_of(*TYPES)
_BOUND = {"constant": _any, "terms": [{"param": _text, "coefficient": _any}], "text": _text}
_REGION = {"lower": [_BOUND], "upper": [_BOUND]}
_OPERATION = (lambda v: isinstance(v, dict) and sum(key in v for key in ("launch", "swap", "repeat")) == 1 and isinstance(v.get("after", 0), int))
_OPERATIONS, _ROUNDS = ({count: _number(0), "operations": [_OPERATION]} for count in ("steps", "rounds"))
_SHAPE = {
    "target": {"arch": _one_of("nvptx", "amdgpu", "host"), "artifact": _one_of("ptx", "hsaco", "o")}, "rank": _one_of, "grid": _REGION,
    "scalars": [{"name": _text, "kind": _one_of("param", "let", "reduction"), "type": _type}], "checks": [{"unless_empty": [_REGION]}],
    "arrays": [{"name": _text, "type": _type, "extent": _BOUND}],
    "fields": [{"name": _text, "type": _type, "extents": [_BOUND], "input": lambda v: isinstance(v, bool), "temp": lambda v: isinstance(v, bool),
                "init": lambda v: isinstance(v, bool), "frames": {"every": _number(1), "cycle": lambda v: isinstance(v, bool)}}],
    "buffers": [{"name": _text, "kind": _one_of("field", "array", "scratch"), "type": _type, "element_bytes": _number(1), "alignment": _number(1), "each": _BOUND}],
    "kernels": [{"name": _text, "multiples": [{"value": _BOUND, "of": _number(1)}], "block": _block, "dynamic_shared_bytes": _number(0),
                 "scratch_bytes": _number(0), "argument_bytes": _number(0), "grid": [{"extent": _BOUND, "tile": _number(1)}], "cluster": _number(2),
                 "tiles": {"classes": _text, "busy": [_number(0)], "list": _text, "columns": _number(2)},
                 "arguments": [{"kind": _one_of("buffer", "scalar", "step"), "bytes": _number(1), "offset": _number(0)}]}],
    "host": {"init": _OPERATIONS, "once": _OPERATIONS, "sequences": [_OPERATIONS], "loops": [{"name": _text, "most": _BOUND, "sequences": [_ROUNDS]}],
             "reductions": [{"name": _text, "kind": _one_of("reduce", "until", "finite", "bounds"), "type": _one_of("f64", "i64"), "every": _number(1),
                             "sequence": _OPERATIONS, "result": _text, "scalar": _text}]}, "members": _BOUND}
_SHAPE["rank"] = lambda v: v in (1, 2, 3) and not isinstance(v, bool)
_PAIRS = [{"name": _text, "from": _text}]
_GRADIENT = {
    "artifact": _one_of("back.ptx", "back.hsaco", "back.o"), "artifact_checksum": _text, "last": _text, "given": [_text], "losses": [{"name": _text, "every": _number(0), "factor": _factor}],
    "by": [{"name": _text, "kind": _one_of("field", "array", "param")}], "elements": [{"bar": _text, "number": _text, "array": _text}],
    **{key: _PAIRS for key in ("inputs", "saved", "after", "ends", "derivatives", "filled", "scalars", "states")}}
_OPTIONAL = {"scratch_bytes", "multiples", "loops", "frames", "cluster", "members", "each", "once", "tiles", "list", "columns", "artifact_checksum"}


def _fits(value: Any, shape: Any, where: str) -> None:
    """Raises what is wrong with a value, called `where`."""
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            raise _Damaged(f"{where or 'it'} is no object")
        for key, inner in shape.items():
            if key in value:
                _fits(value[key], inner, f"{where}.{key}" if where else key)
            elif key not in _OPTIONAL:
                raise _Damaged(f"{where + ' has' if where else 'it has'} no {key}")
    elif isinstance(shape, list):
        if not isinstance(value, list):
            raise _Damaged(f"{where} is no list")
        for i, v in enumerate(value):
            _fits(v, shape[0], f"{where}[{i}]")
    elif not shape(value):
        raise _Damaged(f"{where} is {value!r:.60}")


def _names(data: Dict[str, Any], key: str) -> Dict[str, Any]:
    found = {x["name"]: x for x in data[key]}
    if len(found) < len(data[key]):
        raise _Damaged(f"{key} has a name twice")
    return found


def _known(name: Any, names: Dict[str, Any], where: str) -> Any:
    if not isinstance(name, str) or name not in names:
        raise _Damaged(f"{where} names {name!r:.60}, which there is not")
    return names[name]


def _bounds(value: Any, scalars: Dict[str, Any]) -> None:
    """All bounds within name scalars."""
    if isinstance(value, dict):
        for t in value["terms"] if isinstance(value.get("terms"), list) else ():
            _known(t["param"] if isinstance(t, dict) else None, scalars, "a bound")
        for v in value.values():
            _bounds(v, scalars)
    elif isinstance(value, list):
        for v in value:
            _bounds(v, scalars)


def _expressions(value: Any, scalars: Dict[str, Any]) -> None:
    """All expressions within take values that there are before."""
    ops = value if isinstance(value, list) and value and all(isinstance(v, dict) and "op" in v for v in value) else []
    for i, op in enumerate(ops):
        if not _type(op.get("type")) or not all(_number(0)(a) and a < i for a in op.get("arguments", [])):
            raise _Damaged("an expression has no type, or takes a value that comes later")
        if op["op"] == "scalar":
            _known(op.get("scalar"), scalars, "an expression")
        elif op["op"] == "const" and not _value(op.get("value")):
            raise _Damaged("an expression has a constant without a value")
    for v in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _expressions(v, scalars)


def _check_kernels(data: Dict[str, Any], scalars: Dict[str, Any], buffers: Dict[str, Any], kernels: Dict[str, Any]) -> None:
    for k in data["kernels"]:
        if len(k["grid"]) != data["rank"]:
            raise _Damaged(f"kernel {k['name']} has not as many dimensions as the grid")
        if k.get("instead") is not None and _known(k["instead"], kernels, f"kernel {k['name']}")["multiples"]:
            raise _Damaged(f"kernel {k['name']} is to be replaced by one that does not do for all params")
        for a in k["arguments"]:
            if a["kind"] == "buffer":
                _known(a.get("buffer"), buffers, f"kernel {k['name']}")
            elif a["kind"] == "scalar" and TYPES[_known(a.get("scalar"), scalars, f"kernel {k['name']}")["type"]] != a["bytes"]:
                raise _Damaged(f"kernel {k['name']} takes {a['scalar']} in another size than it has")
            if a["offset"] + a["bytes"] > k["argument_bytes"]:
                raise _Damaged(f"kernel {k['name']} has arguments beyond its argument_bytes")
        _check_tiles(k, k.get("tiles"), buffers, len(k["grid"]))


def _check_tiles(k: Dict[str, Any], tiles: Any, buffers: Dict[str, Any], rank: int) -> None:
    """The buffers by which a kernel goes by the classes of its tiles."""
    if tiles and _known(tiles["classes"], buffers, f"kernel {k['name']}")["type"] != "u8":
        raise _Damaged(f"the classes of the tiles of kernel {k['name']} are no bytes")
    if tiles and ("list" in tiles) != ("columns" in tiles):
        raise _Damaged(f"kernel {k['name']} has a list of tiles without columns, or columns of none")
    if tiles and "list" in tiles and (tiles["columns"] != rank + 1 or _known(tiles["list"], buffers, f"kernel {k['name']}")["type"] != "u32"):
        raise _Damaged(f"the list of tiles of kernel {k['name']} is of another form")


def _check_buffers(data: Dict[str, Any], buffers: Dict[str, Any]) -> None:
    fields, arrays = _names(data, "fields"), _names(data, "arrays")
    for f in fields.values():
        if "ahead_of" in f.get("frames", {}) and "frames" not in _known(f["frames"]["ahead_of"], fields, f"field {f['name']}"):
            raise _Damaged(f"field {f['name']} has the frames ahead of a field without")
    for b in buffers.values():
        if b["element_bytes"] != TYPES[b["type"]] or b["alignment"] & (b["alignment"] - 1):
            raise _Damaged(f"buffer {b['name']} has elements or an alignment of a wrong size")
        if b["kind"] == "scratch":
            _fits(b.get("elements"), _number(0), f"buffer {b['name']}.elements")
            continue
        of = _known(b.get(b["kind"]), fields if b["kind"] == "field" else arrays, f"buffer {b['name']}")
        if of["type"] != b["type"]:
            raise _Damaged(f"buffer {b['name']} is of another type than what it is for")
        if b["kind"] == "field":
            _fits(b.get("copy"), _number(0), f"buffer {b['name']}.copy")
        _fits(b.get("lead", 0), _number(0), f"buffer {b['name']}.lead")


def _check_sequence(sequence: Dict[str, Any], buffers: Dict[str, Any], kernels: Dict[str, Any], loops: Dict[str, Any]) -> None:
    for op in sequence["operations"]:
        if "launch" in op:
            _known(op["launch"], kernels, "a sequence")
        elif "repeat" in op:
            _known(op["repeat"], loops, "a sequence")
        elif not isinstance(op["swap"], list) or len(op["swap"]) != 2:
            raise _Damaged("a swap is not of two buffers")
        else:
            for name in op["swap"]:
                _known(name, buffers, "a swap")


def _check_loops(host: Dict[str, Any], buffers: Dict[str, Any], kernels: Dict[str, Any]) -> Dict[str, Any]:
    """The loops by name; each has none but those before it."""
    loops: Dict[str, Any] = {}
    for l in host.get("loops", []):
        for sequence in l["sequences"]:
            _check_sequence(sequence, buffers, kernels, loops)
        if l["name"] in loops or not any(s["rounds"] == 1 for s in l["sequences"]):
            raise _Damaged(f"the loop {l['name']} is there twice, or has no sequence of one round")
        if l.get("counting", "up") not in ("up", "down"):
            raise _Damaged(f"the loop {l['name']} counts {l['counting']!r:.60}")
        loops[l["name"]] = l
    return loops


def _check_host(data: Dict[str, Any], scalars: Dict[str, Any], buffers: Dict[str, Any], kernels: Dict[str, Any]) -> None:
    host = data["host"]
    loops = _check_loops(host, buffers, kernels)
    for sequence in host["sequences"]:
        _check_sequence(sequence, buffers, kernels, loops)
    for sequence in [host["init"], host.get("once", {"operations": []})] + [r["sequence"] for r in host["reductions"]]:
        _check_sequence(sequence, buffers, kernels, {})
    if not any(s["steps"] == 1 for s in host["sequences"]):
        raise _Damaged("no sequence makes one step")
    for r in host["reductions"]:
        _known(r["scalar"], scalars, "a reduction")
        if r.get("loop") is not None:
            _known(r["loop"], loops, "a reduction")
        result = _known(r["result"], buffers, "a reduction")
        if result["kind"] != "scratch" or result["elements"] < 1 or result["type"] != r["type"]:
            raise _Damaged("the result of a reduction has no place")
        each = r.get("each", False)
        if not isinstance(each, bool) or each != ("each" in result) or each and "members" not in data:
            raise _Damaged("a reduction has a value for each member, and there are none, or no place for them")
        if r["kind"] == "until" and not isinstance(r.get("stop"), list) or r["kind"] in ("finite", "bounds") and "good" not in r:
            raise _Damaged("a reduction does not say what its value means")


def _check_points(data: Dict[str, Any]) -> None:
    fields, arrays = _names(data, "fields"), _names(data, "arrays")
    for l in data.get("points", []):
        _fits(l, {"name": _text, "region": _REGION, "most": _number(0)}, "points")
        _known(l["field"], fields, "points")
        if len(l["at"]) != data["rank"] and "members" not in data:
            raise _Damaged("points have not as many coordinates as the grid has dimensions")
        for at in l["at"]:
            if "array" in at:
                _known(at["array"], arrays, "points")
            elif "number" not in at:
                _fits(at, _BOUND, "points")


def _is_one(extent: Dict[str, Any]) -> bool:
    return not extent["terms"] and extent["constant"] == 1


def _check_pairs(data: Dict[str, Any], key: str, outer: Dict[str, Any], within: Dict[str, Any]) -> None:
    """Fields of the backward program that are given what fields of the forward one have, or have derivatives by them: the same points of those."""
    of, to = ({f["name"]: f for f in m["fields"]} for m in (outer, within))
    buffers = {b["field"] for b in outer["buffers"] if b["kind"] == "field"}
    for x in data[key]:
        a, b = _known(x["from"], of, f"gradient.{key}"), _known(x["name"], to, f"gradient.{key}")
        alike = a["type"] == b["type"] and a["extents"] == b["extents"]
        if key == "derivatives":        # of a dimension that the field does not have, they have all points of the grid
            alike = len(a["extents"]) == len(b["extents"]) and all(p == q or _is_one(p) for p, q in zip(a["extents"], b["extents"]))
        if not alike:
            raise _Damaged(f"gradient.{key}: {x['name']} is of another type or of other points than {x['from']}")
        if key in ("saved", "after") and x["from"] not in buffers:
            raise _Damaged(f"gradient.{key}: {x['from']} is in no buffer")


def _check_losses(data: Dict[str, Any], program: Dict[str, Any]) -> None:
    """Each loss that counts is a reduction of the backward program, one of several steps after each of its own."""
    reductions = {r["name"]: r for r in program["host"]["reductions"] if r["kind"] == "reduce" and r.get("loop") is None and not r.get("each")}
    for loss in data["losses"]:
        if float(loss["factor"]) != 0 and _known(loss["name"], reductions, "gradient.losses")["every"] != 1 and loss["every"]:
            raise _Damaged(f"gradient.losses: {loss['name']} is not known after each step")


def _check_targets(data: Dict[str, Any], outer: Dict[str, Any], program: Dict[str, Any]) -> None:
    """What the gradient is to, and the points, elements and scalars that derivatives are summed up of."""
    of = {kind: {x["name"]: x for x in outer[key]} for kind, key in (("field", "fields"), ("array", "arrays"), ("param", "scalars"))}
    fields, arrays = ({x["name"]: x for x in program[key]} for key in ("fields", "arrays"))
    records = {r["name"]: r for r in outer["records"]}
    for x in data["by"]:
        record = records.get(x["name"]) if x["kind"] == "field" else None
        for name in [c["field"] for c in record["components"]] if record else [x["name"]]:
            _known(name, of[x["kind"]], "gradient.by")
    for x in data["filled"]:
        _known(x["name"], of["field"], "gradient.filled"), _known(x["from"], of["field"], "gradient.filled")
    for x in data["scalars"]:
        _known(x["name"], fields, "gradient.scalars"), _known(x["from"], of["param"], "gradient.scalars")
    for x in data["states"]:
        if "first" not in _known(x["name"], arrays, "gradient.states"):
            raise _Damaged(f"gradient.states: {x['name']} is no scalar that steps update")
        _known(x["from"], of["param"], "gradient.states")
    for e in data["elements"]:
        _known(e["array"], of["array"], "gradient.elements")
        bar, number = (_known(e[key], fields, "gradient.elements") for key in ("bar", "number"))
        if number["type"] != "i64" or bar["extents"] != number["extents"]:
            raise _Damaged(f"gradient.elements: {e['number']} does not say whose derivatives are in {e['bar']}")


def _check_gradient(data: Dict[str, Any], outer: Dict[str, Any]) -> None:
    """Checks the entries of the gradient, and the manifest of the backward program."""
    _fits(data, _GRADIENT, "gradient")
    program = data.get("program")
    if not isinstance(program, dict):
        raise _Damaged("gradient.program: it is no object")
    what = check({**program, "schema_version": 0})
    if what:
        raise _Damaged(f"gradient.program: {what}")
    if program.get("gradient") is not None or program["target"] != outer["target"] or data["artifact"] != "back." + outer["target"]["artifact"]:
        raise _Damaged("gradient.program is for another target, or has a gradient of its own")
    for key in ("inputs", "saved", "after", "ends", "derivatives"):
        _check_pairs(data, key, outer, program)
    _check_losses(data, program)
    _check_targets(data, outer, program)
    if _known(data["last"], {s["name"]: s for s in program["scalars"]}, "gradient.last")["kind"] != "param":
        raise _Damaged("gradient.last is no param")


def check(data: Dict[str, Any]) -> Optional[str]:
    """What is wrong with the manifest, in words; None: nothing that could be seen."""
    try:
        gradient = data.get("gradient")
        data = {key: value for key, value in data.items() if key != "gradient"}
        _fits(data, _SHAPE, "")
        if not _number(0)(data.get("schema_version")):
            raise _Damaged("it has no schema_version")
        scalars, buffers, kernels = (_names(data, key) for key in ("scalars", "buffers", "kernels"))
        if isinstance(data.get("steps"), str):
            _known(data["steps"], scalars, "steps")
        else:
            _fits(data.get("steps"), _number(0), "steps")
        for s in data["scalars"]:
            if s["kind"] == "let" and not s.get("expression") or s["kind"] == "param" and "expression" not in s and not _value(s.get("default", "")):
                raise _Damaged(f"scalar {s['name']} has no value")
        _bounds(data, scalars)
        _expressions(data, scalars)
        _check_buffers(data, buffers)
        _check_kernels(data, scalars, buffers, kernels)
        _check_host(data, scalars, buffers, kernels)
        _check_points(data)
        if gradient is not None:
            _check_gradient(gradient, data)
    except _Damaged as e:
        return str(e)
    except (KeyError, TypeError, AttributeError, RecursionError) as e:
        return f"{type(e).__name__}: {e}"
    return None


def check_single(manifest: Any, name: str, what: str) -> None:
    """Raises ValueError if a field is of several numbers a point that are no complex one: such cannot be `what`. name: what the message begins with."""
    if any(record["type"] not in ("c64", "c128") for record in manifest["records"]):
        raise ValueError(f"{name}fields of vectors and structs cannot be {what}; declare a field for each component")
