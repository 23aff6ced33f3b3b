#!/usr/bin/env python3
"""Fits the device parameters of grade F to the rows that may set them (docs/model.md), by Gauss-Newton on relative errors.

  scripts/fit_devices.py wse2|wse3-gemm|wse3-gemv [PROGRAM]     prints values; data/devices is not changed
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SETS = {  # device, tables whose calibration rows count, parameters
    "wse2": ("wse2", ["table3", "table4"], ["shift", "background_word", "operator_entry", "hop"]),
    "wse3-gemm": ("wse3", ["wse3-gemm"], ["shift", "call"]),
    "wse3-gemv": ("wse3", ["wse3-gemv"], ["hop", "stage", "operator_entry", "die_border"]),
}


def errors(program: str, device: str, tables: list[str], description: dict) -> list[float]:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(description, file)
        file.flush()
        ranks = os.environ.get("RANKS", "2")
        command = ["mpirun", "-n", ranks, program, "reproduce", *tables, "--calibration", "--json", f"--{device}", file.name]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return [
        row["error_percent"] / 100
        for table in tables
        for row in found[table]["rows"]
        if row["set_parameters"] and row["group"] != "no die borders"
    ]


def solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Gauss elimination with pivots, for a handful of unknowns."""
    n = len(right)
    rows = [row[:] + [value] for row, value in zip(matrix, right)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(n):
            if r != i:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    return [rows[i][n] / rows[i][i] for i in range(n)]


def main() -> int:
    name = sys.argv[1]
    program = sys.argv[2] if len(sys.argv) > 2 else str(ROOT / "build/release/apps/wafermesh/wafermesh")
    device, tables, names = SETS[name]
    description = json.loads((ROOT / f"data/devices/{device}.json").read_text())
    values = description["parameters"]
    for step in range(6):
        base = errors(program, device, tables, description)
        print(f"step {step}: mean {100 * sum(map(abs, base)) / len(base):.3f}% max {100 * max(map(abs, base)):.3f}%",
              {n: round(values[n]["value"], 3) for n in names}, flush=True)
        slopes = []
        for parameter in names:
            value = values[parameter]["value"]
            change = max(0.05, 0.01 * value)
            values[parameter]["value"] = value + change
            moved = errors(program, device, tables, description)
            values[parameter]["value"] = value
            slopes.append([(m - b) / change for m, b in zip(moved, base)])
        normal = [[sum(a * b for a, b in zip(r, s)) for s in slopes] for r in slopes]
        update = solve(normal, [-sum(a * b for a, b in zip(r, base)) for r in slopes])
        for parameter, change in zip(names, update):
            values[parameter]["value"] = max(0.0, values[parameter]["value"] + change)
        if all(abs(change) < 2e-3 * max(1.0, values[p]["value"]) for p, change in zip(names, update)):
            break
    print("fitted", {n: round(values[n]["value"], 3) for n in names})
    return 0


if __name__ == "__main__":
    sys.exit(main())
