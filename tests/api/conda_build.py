"""conda_build.py RECIPE OUT: builds the conda package of a recipe, which STC_WHEEL in the environment is for, into the folder OUT, and unpacks its
files into OUT/files. Run by a Python that has py-rattler-build and zstandard. Nothing is asked of any channel."""
import io
import sys
import tarfile
import zipfile
from pathlib import Path

import rattler_build
import zstandard


def main(recipe, out):
    built = rattler_build.Stage0Recipe.from_file(recipe).run_build(channels=[], output_dir=out / "channel", package_format="conda:-7",
                                                                  tool_config=rattler_build.ToolConfiguration(test_strategy="skip"))
    assert len(built) == 1, built
    package, = (out / "channel").glob("linux-64/stc-stencil-*.conda")
    facts = rattler_build.Package.from_file(package)
    assert facts.name == "stc-stencil" and facts.depends == ["python >=3.9", "numpy", "__glibc >=2.34"], facts.to_dict()
    with zipfile.ZipFile(package) as z:
        for name in z.namelist():
            if name.endswith(".tar.zst"):
                data = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(z.read(name))).read()
                tarfile.open(fileobj=io.BytesIO(data)).extractall(out / "files")
    print(package)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
