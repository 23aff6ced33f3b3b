"""Virtual time as its user meets it: devices, dry runs, ledgers that do not depend on ranks, predictions, tables."""
import csv
import io
import json
import os
from pathlib import Path

from support import FOLIO, GOLDEN, Case, main, run

DEVICES = Path(os.environ["WAFER_DATA"]) / "devices"


class Devices(Case):
    def refused(self, *arguments, code, says):
        for ranks in (1, 3):
            ended = self.refuses(code, says[0], ranks, *arguments)
            for word in says:
                self.assertIn(word, ended.errors()[0])

    def device(self, change):
        description = json.loads((DEVICES / "wse2.json").read_text())
        change(description)
        path = self.folder / "device.json"
        path.write_text(json.dumps(description))
        return path

    def test_a_device_that_is_not_there_or_not_whole_is_refused_by_name(self):
        gemm = ("gemm", "--dry", "--mesh", "2x2", "--device")
        self.refused(*gemm, "wse9", code=3, says=("wse9", "wse2"))
        missing = self.device(lambda d: d["parameters"].pop("hop"))
        self.refused(*gemm, missing, code=3, says=("device.json", "hop"))
        unknown = self.device(lambda d: d["parameters"].update(hopp=d["parameters"]["hop"]))
        self.refused(*gemm, unknown, code=3, says=("device.json", "hopp"))
        unit = self.device(lambda d: d["parameters"]["hop"].update(unit="seconds"))
        self.refused(*gemm, unit, code=3, says=("hop", "cycles"))

    def test_what_the_device_has_no_room_for_is_refused(self):
        self.refused("gemm", "--dry", "--device", "wse2", "--mesh", "2000x2000", code=4, says=("WSE-2", "2000x2000"))
        self.refused("gemm", "--dry", "--mesh", "2x2", code=2, says=("--dry", "--device"))
        self.refused("gemv", "--dry", "--device", "wse2", "--mesh", "4x4", "--groups", "9", code=4, says=("--groups", "9"))
        self.refused("predict", "--model", "no-such-model", code=3, says=("no-such-model",))
        self.refused("reproduce", "table9", code=2, says=("table9", "table4"))


class Ledgers(Case):
    def ledger(self, ranks, *arguments):
        return self.good(ranks, *arguments, "--json").json()["ledger"]

    def test_a_product_has_one_ledger_on_any_ranks_real_or_dry(self):
        for command in (("gemm", "-m", 101, "-n", 77, "-k", 123), ("gemm", "-m", 3, "-n", 5, "-k", 2),
                        ("gemm", "--algorithm", "mesh-t", "-m", 101, "-n", 77, "-k", 123), ("gemv", "-n", 77, "-k", 123)):
            for mesh in ("3x3", "7x5", "2x6"):
                with self.subTest(command=command, mesh=mesh):
                    flags = (*command, "--mesh", mesh, "--device", "wse3")
                    expected = self.ledger(1, *flags, "--dry")
                    for ranks in (1, 2, 3, 4, 6):
                        self.assertEqual(expected, self.ledger(ranks, *flags))
                    self.assertEqual(expected, self.ledger(3, *flags, "--dry"))

    def test_storage_changes_words_and_memory(self):
        flags = ("gemm", "--dry", "--mesh", "3x3", "--device", "wse2", "-m", 60, "-n", 60, "-k", 60)
        half = self.ledger(1, *flags)
        whole = self.ledger(1, *flags, "--storage", "fp32")
        self.assertEqual(2 * half["total"]["words"], whole["total"]["words"])
        self.assertEqual(2 * half["memory"]["bytes"], whole["memory"]["bytes"])

    def test_a_generation_has_the_ledger_of_its_dry_run(self):
        for meshes in (("3x3", "3x3"), ("2x3", "5x2")):
            flags = ("--model", FOLIO, "--device", "wse2")
            ids = "5,9,2,7,11"
            real = self.good(2, "generate", *flags, "--mesh", meshes[0], "--decode-mesh", meshes[1], "--prompt-ids", ids,
                             "-n", 4, "--ignore-eos", "--json").json()
            dry = self.good(1, "predict", *flags, "--prefill-mesh", meshes[0], "--decode-mesh", meshes[1], "--input", 5,
                            "--output", 3, "--every-layer", "--json").json()
            decode = {(e["layer"], e["operator"]): e for e in real["ledger"]["operators"] if e["phase"] == "decode"}
            compared = 0
            for entry in dry["ledger"]["operators"]:
                if entry["phase"] != "decode" or entry["operator"] == "regions":
                    continue
                mine = decode[(entry["layer"], entry["operator"])]
                self.assertEqual(mine["words"], entry["words"], entry["operator"])
                self.assertEqual(mine["calls"], entry["calls"], entry["operator"])
                compared += 1
            self.assertGreater(compared, 60)

    def test_results_go_to_files_of_every_kind(self):
        flags = ("gemm", "--dry", "--mesh", "3x4", "--device", "wse2")
        table = self.folder / "gemm.csv"
        self.good(1, *flags, "--out", table)
        rows = list(csv.DictReader(io.StringIO(table.read_text())))
        self.assertEqual(["mesh_gemm"], [row["operator"] for row in rows])
        self.assertGreater(float(rows[0]["cycles"]), 0)
        whole = self.folder / "gemm.h5"
        self.good(1, *flags, "--out", whole)
        self.assertEqual(b"\x89HDF", whole.read_bytes()[:4])

    def test_storage_is_real_and_verify_shows_what_it_costs(self):
        model = GOLDEN / "qwen3"
        errors = {}
        for storage in ("fp32", "fp16", "bf16"):
            ended = run(2, "verify", "--model", model, "--mesh", "3x2", "--storage", storage, "--tolerance", 0.1,
                              "--nmse", 1, "--json")
            self.assertEqual(0, ended.code, ended.err)
            errors[storage] = max(check["max_abs"] for check in ended.json()["comparisons"])
        self.assertLess(100 * errors["fp32"], errors["fp16"])
        self.assertLess(2 * errors["fp16"], errors["bf16"])


class Tables(Case):
    def test_tables_that_take_no_time_hold_and_say_so(self):
        for ranks in (1, 2):
            ended = self.good(ranks, "reproduce", "table4", "table5", "table6", "closed-forms", "single-core", "--json")
            for name, table in ended.json().items():
                self.assertTrue(table["good"], name)
                self.assertGreater(len(table["rows"]), 0)

    def test_a_bound_that_is_missed_ends_with_5(self):
        description = json.loads((DEVICES / "wse2.json").read_text())
        description["parameters"]["stage"]["value"] = 50
        path = self.folder / "slow.json"
        path.write_text(json.dumps(description))
        ended = run(2, "reproduce", "table4", "--wse2", path)
        self.assertEqual(5, ended.code)
        self.assertIn("MISS", ended.out)

    def test_held_back_shapes_of_a_wafer_take_cycles(self):
        found = self.good(1, "gemm", "--dry", "--device", "wse3", "--mesh", "272x272", "-m", 544, "-n", 816, "-k", 272,
                          "--json").json()
        self.assertGreater(found["cycles"], 272 * 100)
        found = self.good(1, "gemv", "--dry", "--device", "wse3", "--mesh", "272x272", "-k", 272, "-n", 544, "--groups",
                          16, "--json").json()
        self.assertGreater(found["cycles"], 272)


if __name__ == "__main__":
    main()
