"""What the tests of the program share: running it, models on disk, how a test file ends.

The tests get their paths from ctest as environment variables; see CMakeLists.txt.
"""
import functools
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PROGRAM = Path(os.environ["WAFER_PROGRAM"])
MPIEXEC = os.environ["WAFER_MPIEXEC"]
RANKS_FLAG = os.environ["WAFER_RANKS_FLAG"]
FOLIO = Path(os.environ["WAFER_DATA"]) / "folio"
GOLDEN = Path(os.environ["WAFER_GOLDEN"])
STORIES = Path(os.environ["WAFER_STORIES"])
SKIPPED = 77

# 5 heads of 6 on odd sizes; no number divides another.
TINY = {
    "model_type": "llama", "hidden_size": 35, "num_hidden_layers": 1, "num_attention_heads": 15,
    "num_key_value_heads": 5, "head_dim": 6, "intermediate_size": 53, "vocab_size": 101,
    "max_position_embeddings": 40, "rms_norm_eps": 1e-5, "tie_word_embeddings": False,
    "eos_token_id": 2, "dtype": "float32",
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
}


class Ended:
    """How a run ended."""

    def __init__(self, process: subprocess.CompletedProcess, seconds: float):
        self.code = process.returncode
        self.out = process.stdout
        self.err = process.stderr
        self.seconds = seconds

    def errors(self) -> list[str]:
        return [line for line in self.err.splitlines() if line.startswith("error: ")]

    def json(self) -> dict:
        return json.loads(self.out)


def command(ranks: int, *arguments, wrapper=()) -> list[str]:
    """The command line; one rank runs without mpirun."""
    launch = [MPIEXEC, RANKS_FLAG, str(ranks)] if ranks > 1 else []
    return [*launch, *map(str, wrapper), str(PROGRAM), *map(str, arguments)]


def run(ranks: int, *arguments, timeout=120, wrapper=(), **options) -> Ended:
    start = time.monotonic()
    process = subprocess.run(command(ranks, *arguments, wrapper=wrapper), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=timeout,
                             **options)
    return Ended(process, time.monotonic() - start)


@functools.cache
def soon(ranks: int) -> float:
    """5 seconds, or more where the machine is so busy that even --version takes long. [seconds]"""
    return max(5.0, 10 * run(ranks, "--version").seconds)


def read_safetensors(path: Path) -> tuple[dict, bytes]:
    """The header of a safetensors file, and the bytes behind it."""
    whole = path.read_bytes()
    (length,) = struct.unpack("<Q", whole[:8])
    return json.loads(whole[8:8 + length]), whole[8 + length:]


def write_safetensors(path: Path, header: dict, data: bytes) -> None:
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


class Case(unittest.TestCase):
    """A test with a folder of its own, removed at the end."""

    maxDiff = None

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="wafermesh-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def good(self, ranks: int, *arguments, **options) -> Ended:
        """Runs it; the run must end well and say nothing on stderr but a summary."""
        ended = run(ranks, *arguments, **options)
        self.assertEqual(0, ended.code, ended.err + ended.out)
        self.assertEqual([], ended.errors())
        return ended

    def refuses(self, code: int, says: str, ranks: int, *arguments, **options) -> Ended:
        """Runs it; the run must end in time, with the code and one line of ours that holds `says`."""
        ended = run(ranks, *arguments, timeout=60, **options)
        self.assertEqual(code, ended.code, ended.err)
        self.assertEqual(1, len(ended.errors()), ended.err)
        self.assertIn(says, ended.errors()[0])
        self.assertLess(ended.seconds, soon(ranks))
        self.assertEqual("", ended.out)
        if ranks == 1:  # no banner of mpirun's
            self.assertEqual(1, len(ended.err.splitlines()), ended.err)
        return ended

    def tiny(self, name="tiny", **changes) -> Path:
        """A model directory with random weights and no tokenizer."""
        config = self.folder / f"{name}.json"
        config.write_text(json.dumps(TINY | changes))
        self.good(1, "convert", "--random", config, "--out", self.folder / name, "--quiet")
        return self.folder / name


def main() -> None:
    """Runs the tests of the file; ends as skipped if nothing but skipped tests ran."""
    result = unittest.main(exit=False, verbosity=2).result
    if result.wasSuccessful() and result.skipped and len(result.skipped) == result.testsRun:
        sys.exit(SKIPPED)
    sys.exit(0 if result.wasSuccessful() else 1)
