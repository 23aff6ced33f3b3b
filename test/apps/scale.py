"""scale, allreduce and the pictures that scripts/plot makes of their results."""
import csv
import json
import subprocess
import sys
from pathlib import Path

from support import GOLDEN, Case, main, run

ODD = GOLDEN / "llama-odd"
PLOT = Path(__file__).resolve().parents[2] / "scripts" / "plot"


def python_with_matplotlib() -> str | None:
    """Debian's Python has what Debian's packages bring; another one may come first."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import matplotlib"], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    return None


class Scale(Case):
    def test_every_configuration_has_a_checked_row_with_all_its_samples(self):
        result = self.good(4, "scale", "--op", "gemm", "--mesh", "3x3,2x5", "--sizes", "17,31", "--ranks", "1,3,4",
                           "--algorithms", "mesh,summa", "--reps", 3, "--device", "wse2", "--json").json()
        self.assertEqual(("gemm", "strong"), (result["op"], result["mode"]))
        self.assertEqual(2 * 2 * 2 * 3, len(result["rows"]))
        for row in result["rows"]:
            self.assertEqual(("ok", 3), (row["check"], len(row["samples"])))
            self.assertLessEqual(row["min"], row["median"])
            self.assertLessEqual(row["low"], row["median"])
            self.assertGreaterEqual(row["high"], row["median"])
            self.assertGreater(row["words"], 0)
            same = [other for other in result["rows"] if
                    all(other[key] == row[key] for key in ("algorithm", "mesh", "size"))]
            for key in ("hash", "cycles", "words", "exposed"):  # whatever the ranks
                self.assertEqual(1, len({other[key] for other in same}))
            self.assertEqual(row["ranks"] == 1, row["speedup"] == 1.0 == row["efficiency"])

    def test_every_operation_runs_with_others_asleep(self):
        for op in ("gemv", "allreduce", "prefill", "decode"):
            model = ["--model", ODD] if op in ("prefill", "decode") else []
            result = self.good(3, "scale", "--op", op, *model, "--mesh", "3x2", "--sizes", 5, "--ranks", "1,2",
                               "--reps", 2, "--device", "wse3", "--json").json()
            self.assertEqual(["ok", "ok"], [row["check"] for row in result["rows"]], op)
            self.assertEqual(1, len({row["hash"] for row in result["rows"]}))
            self.assertTrue(all(row["cycles"] > 0 for row in result["rows"]))

    def test_weak_scaling_grows_the_sizes(self):
        result = self.good(2, "scale", "--op", "gemm", "--mesh", "3x3", "--sizes", 40, "--weak", "--reps", 1,
                           "--json").json()
        self.assertEqual(["40", "50"], [row["size"] for row in result["rows"]])  # 40 times the cube root of 2

    def test_results_go_to_files_and_are_compared(self):
        flags = ["scale", "--op", "gemm", "--mesh", "2x2", "--sizes", 48, "--reps", 6, "--ranks", "1,2"]
        directory = self.folder
        for name in ("new.json", "new.h5", "new.csv"):
            self.good(2, *flags, "--out", directory / name)
        rows = list(csv.DictReader((directory / "new.csv").read_text().splitlines()))
        self.assertEqual(["1", "2"], [row["ranks"] for row in rows])
        # The same again, with a tolerance that no noise exceeds.
        for name in ("new.json", "new.h5"):
            self.good(2, *flags, "--compare", directory / name, "--tolerance", 99)
        # Against a time that nobody reaches.
        earlier = json.loads((directory / "new.json").read_text())
        for row in earlier["rows"]:
            row["samples"] = [1e-12] * 6
        (directory / "fast.json").write_text(json.dumps(earlier))
        ended = run(2, *flags, "--compare", directory / "fast.json")
        self.assertEqual(6, ended.code)
        self.assertIn("2 of 2 rows are slower", ended.out)
        (directory / "other.json").write_text('{"rows": [{"ranks": 1}]}')
        ended = run(2, *flags, "--compare", directory / "other.json")
        self.assertEqual(3, ended.code)
        self.assertIn("other.json", ended.errors()[0])

    def test_what_cannot_be_scaled_is_refused(self):
        for flags, words in ((["--ranks", "1,3"], ["--ranks", "3", "mpirun -n 3"]),
                             (["--op", "decode", "--weak"], ["--weak", "decode"]),
                             (["--strong", "--weak"], ["--strong"]),
                             (["--algorithms", "strassen"], ["strassen", "summa"]),
                             (["--op", "gemv", "--algorithms", "mesh"], ["mesh", "pipeline"])):
            ended = run(2, "scale", *flags)
            self.assertEqual(2, ended.code, flags)
            for word in words:
                self.assertIn(word, ended.errors()[0])
        ended = run(2, "scale", "--mesh", "1x1", "--ranks", "1,2")
        self.assertEqual(4, ended.code)


class AllReduce(Case):
    def test_every_algorithm_is_exact_on_any_ranks_with_one_ledger(self):
        for algorithm in ("ktree", "pipeline", "pipeline-corner", "ring", "tree"):
            for flags in (["--op", "max", "--axis", "x"], ["--to-root"]):
                found = [self.good(ranks, "allreduce", "--mesh", "7x5", "-n", 13, "--algorithm", algorithm, *flags,
                                   "--device", "wse2", "--json", *dry).json()
                         for ranks, *dry in ((1,), (3,), (1, "--dry"))]
                self.assertTrue(found[0]["good"] and found[1]["good"], (algorithm, flags))
                self.assertEqual(found[0]["hash"], found[1]["hash"])
                self.assertEqual(found[0]["ledger"], found[1]["ledger"])
                self.assertEqual(found[0]["ledger"], found[2]["ledger"])

    def test_auto_finds_groups_that_no_other_number_beats(self):
        flags = ["gemv", "--dry", "--device", "wse2", "--mesh", "30x4", "-k", 90, "-n", 40, "--json", "--groups"]
        best = self.good(1, *flags, "auto").json()
        for groups in (1, 2, 5, 6, 10, 30):
            self.assertLessEqual(best["cycles"], self.good(1, *flags, groups).json()["cycles"])
        for wrong, code in (("many", 2), ("31", 4)):
            self.assertEqual(code, run(1, *flags, wrong).code)


class Plot(Case):
    def test_a_result_becomes_pictures(self):
        python = python_with_matplotlib()
        if python is None:
            self.skipTest("python3-matplotlib is not there")
        directory = self.folder
        self.good(2, "scale", "--op", "allreduce", "--mesh", "2x2,4x4", "--sizes", 9, "--reps", 2, "--device",
                  "wse2", "--out", directory / "scale.json")
        for out in ("one", "two"):
            subprocess.run([python, PLOT, directory / "scale.json", "--out", directory / out],
                           check=True, stdout=subprocess.DEVNULL)
        made = sorted(path.name for path in (directory / "one").iterdir())
        self.assertIn("scale_allreduce_strong.png", made)
        self.assertIn("scale_allreduce_strong.svg", made)
        for name in made:
            if name.endswith(".svg"):
                self.assertEqual((directory / "one" / name).read_bytes(), (directory / "two" / name).read_bytes())

    def test_what_is_not_a_result_is_refused(self):
        directory = self.folder
        (directory / "no.json").write_text("[1, 2]")
        for name in ("no.json", "none.json"):
            ended = subprocess.run([sys.executable, PLOT, directory / name], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
            self.assertEqual(3, ended.returncode)
            self.assertIn(name, ended.stderr.splitlines()[0])
            self.assertEqual(1, len(ended.stderr.splitlines()))


if __name__ == "__main__":
    main()
