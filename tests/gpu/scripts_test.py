"""scripts_test.py STC HARNESS STANDIN: tests of the scripts of this folder where there is no GPU, with the simulator, the CPU, or the libraries in the folder STANDIN, which stand in for a driver and compute nothing."""
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
STC, HARNESS, STANDIN = (os.path.abspath(a) for a in sys.argv[1:4])


def script(name, *arguments, **environment):
    """What a script of this folder prints, and its exit status."""
    done = subprocess.run([os.path.join(HERE, name), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **environment})
    return done.stdout, done.returncode


class Sweep(unittest.TestCase):
    def test_searches_about_the_choice(self):
        with tempfile.TemporaryDirectory() as folder:
            out, everything = os.path.join(folder, "out.json"), os.path.join(folder, "all.json")
            for seconds in (3, 20, 120):
                text, status = script("sweep.py", "--jit", "--jobs=2", f"--seconds={seconds}", "--programs=star1d1r", "--types=f32", "--sizes=4096", "--out=" + out,
                                      "--all=" + everything, STC, LD_LIBRARY_PATH=STANDIN)
                self.assertEqual(status, 0, text)
                with open(out, encoding="utf-8") as f:
                    rows = json.load(f)["rows"]
                with open(everything, encoding="utf-8") as f:
                    tried = [r["schedule"] for r in json.load(f)["rows"]]
                if len(set(tried)) > 1:
                    break
            row, = rows
        self.assertRegex(text, r"star1d1r f32 4096: -schedule=.*\nsmall: the choice is [01]\.\d+ of the best by geometric mean of 1 cases\n")
        self.assertEqual((row["program"], row["size"], row["tried"]), ("star1d1r", "4096", len(tried)))
        self.assertLessEqual(row["gpts"], row["best_gpts"])
        self.assertIn(row["choice"], tried)
        self.assertGreater(len(set(tried)), 1)


    def test_says_what_there_is_not(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "libcuda.so.1"), "w") as f:
                f.write("no library")
            text, status = script("sweep.py", "--jit", "--seconds=1", "--programs=star1d1r", "--types=f32", "--sizes=4096", STC, LD_LIBRARY_PATH=folder)
        self.assertEqual((status, text.count("\n")), (1, 1), text)
        self.assertIn("sweep.py: there is no driver of NVIDIA's here: ", text)

    def test_evaluates_params(self):
        sys.path.insert(0, HERE)
        sys.argv, given = sys.argv[:1], sys.argv
        import sweep
        sys.argv = given
        op = lambda name, kind, *arguments, **more: {"op": name, "type": kind, "arguments": list(arguments), **more}
        ops = [op("const", "f64", value=0.5), op("scalar", "f64", scalar="h"), op("mul", "f64", 0, 1), op("sqrt", "f64", 2), op("lt", "bool", 3, 1), op("select", "f64", 4, 0, 3)]
        self.assertEqual(sweep.evaluated(ops, {"h": 8.0}), 0.5)
        self.assertEqual(sweep.evaluated(ops, {"h": 0.125}), 0.25)
        self.assertEqual(sweep.evaluated([op("const", "i32", value=-7), op("const", "i32", value=2), op("div", "i32", 0, 1), op("rem", "i32", 0, 1), op("sub", "i32", 2, 3)], {}), -2)
        with self.assertRaisesRegex(SystemExit, "a param is computed by 'gamma', which this script does not know"):
            sweep.evaluated([op("gamma", "f64")], {})


class Searched(unittest.TestCase):
    def test_lists_what_is_known_in_options_that_are_legal(self):
        with tempfile.TemporaryDirectory() as folder:
            text, status = script("searched.py", "--lists=2", folder)
            self.assertEqual(status, 0, text)
            rows = []
            for i in range(2):
                with open(os.path.join(folder, "list%d.json" % i), encoding="utf-8") as f:
                    rows += json.load(f)
        asked = {(r["program"], r["type"], r["size"]): r["ask"] for r in rows}
        self.assertEqual(len(asked), len(rows))
        self.assertIn("-schedule=naive", asked["star3d1r", "f64", "401x401x401"])
        self.assertIn("-schedule=warps -T=16 -block=4x32 -elems=1x20 -ahead=3", asked["star2d1r", "f32", "16384x16384"])
        path = os.path.join(HERE, "..", "..", "driver", "bench", "star2d1r.stn")
        for schedule in asked["star2d1r", "f32", "16384x16384"]:
            done = subprocess.run([STC, "-march=nvptx", "-mcpu=sm_90", "-emit=plan", "-o", "-", *schedule.split(), path], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_merges_with_what_stands(self):
        with tempfile.TemporaryDirectory() as folder:
            target = os.path.join(folder, "searched.json")
            case = {"program": "star1d1r", "type": "f32", "size": "4096", "choice": "-schedule=naive -block=256", "gpts": 3.0, "best": "-schedule=stream -T=4",
                    "best_gpts": 4.0, "tried": 2}
            old = [{**case, "gpts": 1.0}, {**case, "size": "8192"}]
            for name, rows in (("searched", old), ("sweep0", [{**case, "final": {"-schedule=stream -T=4": 4.0}}]),
                               ("all0", [{**case, "schedule": "-schedule=naive -block=%d" % (128 * g), "gpts": g} for g in (2.0, 2.5)])):
                with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as f:
                    json.dump({"device": "a card", "date": "2026-01-01", "rows": rows}, f)
            text, status = script("searched.py", "--merge=" + target, folder)
            self.assertEqual(status, 0, text)
            with open(target, encoding="utf-8") as f:
                rows = json.load(f)["rows"]
            self.assertEqual(rows, [{**case, "date": "2026-01-01", "naive": 2.5}, {**case, "size": "8192"}])


class Scaling(unittest.TestCase):
    def test_measures_all_and_says_what_failed(self):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out.json")
            text, status = script("scaling.py", "--only=gray_scott", "--ways=one,peer", "--divide=64", "--patience=120", STC, out, LD_LIBRARY_PATH=STANDIN,
                                  STC_STANDIN_DEVICES="2")
            self.assertEqual(status, 0, text)
            with open(out, encoding="utf-8") as f:
                one, peer = json.load(f)["rows"]
            self.assertIn(" 2 of 2 are ready", text)
            self.assertEqual((one["program"], one["size"], one["way"], peer["way"]), ("gray_scott", "256x256", "one", "peer"))
            self.assertEqual(peer["every"] % int(re.search(r"T=([0-9]+)", peer["schedule"]).group(1)), 0, peer)
            self.assertGreater(one["gpts"] * peer["gpts"], 0)
            script("scaling.py", "--only=gray_scott", "--ways=peer", "--divide=64", "--patience=120", STC, out, LD_LIBRARY_PATH=STANDIN)
            with open(out, encoding="utf-8") as f:
                self.assertIn("there is 1 CUDA device", json.load(f)["rows"][0]["left_out"])


class Check(unittest.TestCase):
    def check(self, *arguments, **environment):
        return script("check.py", *arguments, STC, HARNESS, **environment)

    def test_all_well(self):
        text, status = self.check("--device=sim", "--jobs=2", "--only=^(star1d1r|storage) f32 odd")
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"defaults: 4 runs, 4 as the reference, 0 refused as illegal, 0 failed, 0 not run")
        self.assertRegex(text, r"shapes: 30 runs, 30 as the reference")

    def test_runs_what_ptxas_once_got_wrong(self):
        text, status = self.check("--device=sim", "--stages=edges", "--only=^negations .*naive")
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"edges: [1-9]\d* runs, [1-9]\d* as the reference, 0 refused as illegal, 0 failed, 0 not run")

    def test_says_what_fails(self):
        text, status = self.check("--device=cuda", "--jobs=2", "--stages=defaults", "--only=^star1d1r f32 odd", LD_LIBRARY_PATH=STANDIN)
        self.assertEqual(status, 1, text)
        self.assertRegex(text, r"FAIL star1d1r f32 odd -schedule=naive: differs A.npy: byte \d+\n  stc run --device=cuda -fno-contract --check=0 -DN=257 -freal=f32 --steps=35 -schedule=naive ")
        self.assertRegex(text, r"4 of 4 runs done, 4 failed")

    def test_is_cut_by_the_budget(self):
        for budget in (2, 20, 120):
            text, status = self.check("--device=sim", f"--budget={budget}", "--jobs=3", "--stages=edges", "--only=^(star1d1r f32 (odd|large)|star3d2r f32 large)")
            if status == 0:
                break
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"cut by the budget: [1-9]\d* of \d+ not run")

    def test_nothing_run_is_a_failure(self):
        self.assertEqual(self.check("--device=sim", "--only=no such run")[1], 1)


# What stands for ptxas: 40 registers for each kernel, of those at edges 255 and 800 spilled bytes.
PTXAS = """#!/bin/sh
for file; do :; done
sed -n "s/.*\\.entry \\([A-Za-z0-9_]*\\).*/\\1/p" "$file" | while read -r name; do
  echo "ptxas info    : Compiling entry function '$name' for 'sm_90a'"
  case $name in
    *_edge) echo "    800 bytes stack frame, 800 bytes spill stores, 800 bytes spill loads"; echo "ptxas info    : Used 255 registers, used 1 barriers" ;;
    *) echo "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"; echo "ptxas info    : Used 40 registers, used 1 barriers" ;;
  esac
done
"""


class Registers(unittest.TestCase):
    def test_compares(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "ptxas"), "w") as f:
                f.write(PTXAS)
            os.chmod(f.name, 0o755)
            text, status = script("registers.py", STC, "--only=^borders f32 -for-grid=(4096|1024x1024 -schedule=naive)", "--worst=1",
                                  PATH=folder + ":" + os.environ["PATH"])
        self.assertEqual(status, 0, text)
        naive, stream, edge, total, worst = text.splitlines()
        self.assertRegex(naive, r"^naive f32 +1 kernels, mean ratio [0-9.]+, error ")
        self.assertRegex(stream, r"^stream f32 +1 kernels")
        self.assertRegex(edge, r"^stream f32 edge +1 kernels, mean ratio 0\.[0-9]+, ")
        self.assertRegex(total, r"^all +3 kernels")
        self.assertRegex(worst, r"^0\.[0-9]+ borders f32 borders_stream_t\d+_edge: \d+ and 0 more counted, 255 taken and 800 bytes spilled \(stream ")

    def test_says_when_nothing_is_compiled(self):
        self.assertEqual(script("registers.py", STC, "--only=no such kernel"), ("registers.py: nothing was compiled\n", 1))


class Writing(unittest.TestCase):
    def test_measures_and_cleans_up(self):
        with tempfile.TemporaryDirectory() as folder:
            text, status = script("writing.py", STC, "--device=host:1", "--size=64", "--steps=40", "--every=10,20", "--turns=1", "--folder=" + folder)
            self.assertEqual((status, os.listdir(folder)), (0, []), text)
            self.assertRegex(text, r"host:1, 64\^2, 40 steps alone: loop [0-9.]+ s, process [0-9.]+ s\n  every 10: 5 fields of .*\n  every 20: 3 fields of ")
            self.assertEqual(script("writing.py", STC, "--device=nothing", "--turns=1", "--folder=" + folder)[1], 1)


class All(unittest.TestCase):
    def test_does_all_parts_in_time(self):
        with tempfile.TemporaryDirectory() as folder:
            environment = {"DEVICE": "host", "PROGRAMS": "star1d1r", "TYPES": "f32", "SIZE": "300", "PARTS": "bench:600 ops:2000 random:5 check:2"}
            done = subprocess.run([os.path.join(HERE, "all.sh"), STC, "2700", folder], stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
            self.assertEqual(sorted(os.listdir(folder)), ["results.tgz", "summary.txt"])
            with tarfile.open(os.path.join(folder, "results.tgz")) as f:
                names = [os.path.basename(name) for name in f.getnames()]
            for name in ("bench.json", "bench.log", "ops.log", "random.log", "summary"):
                self.assertIn(name, names)
            with open(os.path.join(folder, "summary.txt")) as f:
                text = f.read()
            self.assertRegex(text, r"== bench: status 0, \d+ s")
            self.assertIn("206 ops on host, 0 differ", text)
            self.assertIn("| star1d1r | f32 | 300 |", text)
            self.assertIn("== check: no time left", text)
            self.assertEqual(done.returncode, 0, text)


# What stands for ncu: two launches of one kernel, one of another, with a column for each metric; and one launch with a line for each metric.
NCU = """#!/bin/sh
case "$*" in *pipe_cbu*) echo "==ERROR== Failed to find metric sm__inst_executed_pipe_cbu.sum"; exit 1 ;; esac
cat <<'END'
==PROF== Connected to process 12
{"seconds": 1}
"ID","Process ID","Kernel Name","gpu__time_duration.sum","smsp__inst_executed.sum","sm__inst_executed_pipe_fma.sum","sm__inst_issued.avg.pct_of_peak_sustained_active","launch__registers_per_thread","smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio","smsp__average_warps_issue_stalled_wait_per_issue_active.ratio"
"","","","ns","inst","inst","%","register/thread","inst","inst"
"0","12","j_stream_t4","2,000","64,000","32,000","50.4","128","1.5","2.25"
"1","12","j_stream_t4_edge","500","6,400","3,200","20","96","0.5","0.25"
"2","12","j_stream_t4","3,000","64,000","32,000","61.6","128","1.25","2.5"
END
"""
LONG = """==PROF== x
"ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value"
"0","k_naive(int)","Command line profiler metrics","gpu__time_duration.sum","ns","7,000"
"0","k_naive(int)","Command line profiler metrics","smsp__inst_executed.sum","inst","1,000"
"0","k_init_a","Command line profiler metrics","smsp__inst_executed.sum","inst","n/a"
"""


class Profile(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, 0o700)
        return path

    def test_makes_a_table(self):
        text, status = script("counters.py", "--ncu=" + self.write("ncu", NCU), "--folder=" + self.folder.name, "--programs=star2d1r:f32", "--extents=80x100", "--options=-schedule=stream -T=4", STC, LD_LIBRARY_PATH=STANDIN)
        self.assertEqual(status, 0, text)
        self.assertIn("# not known to this profiler: sm__inst_executed_pipe_cbu.sum", text)
        self.assertIn("| star2d1r f32 | j_stream_t4 | 2 | 3 | 64.00 | 32.00 |  |  |  |  |  |  | 62 % |  |  |  |  | 128 |  | wait 2.50, barrier 1.25 |", text)
        self.assertIn("| star2d1r f32 | j_stream_t4_edge | 1 | 0 | 3.20 | 1.60 |", text)
        text, status = script("counters.py", "--read=" + os.path.join(self.folder.name, "ncu-star2d1r-f32.csv"), "--points=8000", "--steps=8")
        self.assertIn("| j_stream_t4 | 2 | 3 | 64.00 | 32.00 |", text)

    def test_gives_zeros_at_launch(self):
        text, status = script("counters.py", "--ncu=" + self.write("ncu", NCU), "--programs=acoustic_wave:f32", "--extents=80x100", "--options=-schedule=stream -T=2", STC, LD_LIBRARY_PATH=STANDIN)
        self.assertEqual(status, 0, text)
        self.assertIn("| acoustic_wave f32 | j_stream_t4 | 2 |", text)

    def test_reads_a_line_for_each_metric(self):
        text, status = script("counters.py", "--read=" + self.write("long.csv", LONG), "--points=1000", "--steps=4")
        self.assertIn("| long.csv | k_naive | 1 | 7 | 8.00 |  |", text)

    def test_says_that_there_is_nothing(self):
        text, status = script("counters.py", "--ncu=" + self.write("ncu", "#!/bin/sh\necho ==ERROR== no permission\n"), "--programs=star2d1r:f32", "--extents=80x100", STC, LD_LIBRARY_PATH=STANDIN)
        self.assertEqual(status, 1, text)
        self.assertIn("# star2d1r f32: the profiler gave nothing, status 0: ==ERROR== no permission", text)


class Paper(unittest.TestCase):
    def test_a_figure_and_its_page(self):
        with tempfile.TemporaryDirectory() as folder:
            data, page = os.path.join(folder, "paper.json"), os.path.join(folder, "page.md")
            text, status = script("paper.py", "--device=sim", "--small", "--figures=7", "--seconds=2", "--json=" + data, STC)
            self.assertEqual(status, 0, text)
            self.assertRegex(text, r"figure 7: the best of \d+: \{'T': \d+, 'elements': \d+, 'gpts': ")
            with open(page, "w", encoding="utf-8") as f:
                f.write("before\n<!-- table figure7 -->\n<!-- end -->\nbehind\n")
            text, status = script("paper.py", "--check=" + page, "--json=" + data)
            self.assertEqual(status, 1)
            self.assertIn("tests/gpu/paper.py --page=", text)
            self.assertEqual(script("paper.py", "--page=" + page, "--json=" + data)[1], 0)
            self.assertEqual(script("paper.py", "--check=" + page, "--json=" + data)[1], 0)
            with open(page, encoding="utf-8") as f:
                self.assertRegex(f.read(), r"before\n<!-- table figure7 -->\n\| T \| 1 elements \|[^\n]*\n[-|]*\n\| 1 \| [0-9.e-]+ \|")

    def test_the_document_has_the_figures_that_were_measured(self):
        text, status = script("paper.py", "--check=" + os.path.join(HERE, "..", "..", "docs", "paper.md"))
        self.assertEqual(status, 0, text)

    def test_nothing_measured_is_a_failure(self):
        with tempfile.TemporaryDirectory() as folder:
            text, status = script("paper.py", "--device=cuda", "--small", "--figures=7", "--seconds=0", "--json=" + os.path.join(folder, "paper.json"), STC)
            self.assertEqual(status, 1, text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
