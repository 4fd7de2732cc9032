"""stc, a stencil compiler: a few lines of text become time-tiled kernels for GPUs and CPUs.

    heat = stc.compile("heat.stn")                # a Program
    run = heat.plan(device="cuda", N=4096)        # a Plan: the program on a device
    run["A"] = a                                  # NumPy, CuPy, torch, JAX
    run(1000)
    b = run["A"]                                  # DLPack out; on the CPU a NumPy array

    k = stc.load("heat.json")                     # an Artifact that the stc command made, on the vendor's driver alone
    k.run({"A": t}, steps=10)
"""
from ._arrays import DeviceArray
from ._artifact import Artifact, load
from ._errors import DeviceError, InputError, OptionError, StcError, StcWarning
from ._gradient import Gradient
from ._library import version
from ._plan import Plan, ProbeSeries, Rounds, RunInfo
from ._program import Program, compile, devices

__version__ = version().split()[1]
__all__ = ["compile", "load", "devices", "Program", "Plan", "RunInfo", "Rounds", "ProbeSeries", "Gradient", "Artifact", "DeviceArray", "StcError", "OptionError", "InputError",
           "DeviceError", "StcWarning", "__version__"]


def load_ipython_extension(ipython):
    """`%load_ext stc`: the cell magic %%stencil."""
    from ._magic import register
    register(ipython)
