"""Help works everywhere, and the examples in it work as printed."""
import os
import re
import shutil
import subprocess
from pathlib import Path

from support import MPIEXEC, PROGRAM, Case, main


class Help(Case):
    def test_every_subcommand_has_help_and_its_example_works(self):
        overview = self.good(1, "--help").out
        commands = re.findall(r"^  ([a-z]+) +\S", overview.partition("Subcommands:")[2], re.MULTILINE)
        self.assertEqual({"generate", "verify", "gemm", "gemv", "allreduce", "scale", "bench", "predict", "reproduce",
                          "convert", "inspect"}, set(commands))
        for command in ("", *commands):
            with self.subTest(command=command):
                text = self.good(1, *([command] if command else []), "--help").out
                self.run_example(re.search(r"Example: (.+)", text).group(1))

    def run_example(self, line):
        tools = self.folder / "bin"
        tools.mkdir(exist_ok=True)
        for name, target in (("wafermesh", PROGRAM), ("mpirun", shutil.which(MPIEXEC))):
            if not (tools / name).exists():
                (tools / name).symlink_to(Path(target))
        path = f"{tools}{os.pathsep}{os.environ['PATH']}"
        ended = subprocess.run(["sh", "-c", line], cwd=self.folder, env=os.environ | {"PATH": path},
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120,
                               check=False)

        self.assertEqual(0, ended.returncode, line + "\n" + ended.stderr)
        self.assertNotEqual("", ended.stdout)

    def test_help_and_version_are_printed_once_whatever_the_ranks(self):
        self.assertEqual(self.good(1, "gemm", "--help").out, self.good(3, "gemm", "--help").out)
        self.assertRegex(self.good(1, "--version").out, r"^wafermesh \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    main()
