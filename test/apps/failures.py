"""A failure on one rank alone, a killed rank and a closed stdout end the whole job, soon."""
import os
import signal
import subprocess
import time

from support import Case, command, main, run, soon


def only_on_rank(rank: int, action: str) -> list[str]:
    """A wrapper that does something in the shell before the program of one rank starts."""
    return ["sh", "-c", f'if [ "$OMPI_COMM_WORLD_RANK" = {rank} ]; then {action}; fi; exec "$@"', "sh"]


class OneRankAlone(Case):
    def setUp(self):
        super().setUp()
        (self.folder / "elsewhere").mkdir()

    def test_a_model_that_one_rank_cannot_see_ends_all_with_its_name(self):
        self.tiny("model")
        arguments = ["--model", "model", "--prompt-ids", "1,2,3"]
        for rank in (0, 2, 3):
            for subcommand in ("generate", "verify"):
                with self.subTest(rank=rank, subcommand=subcommand):
                    self.refuses(3, f"rank {rank}: ", 4, subcommand, *arguments, cwd=self.folder,
                                 wrapper=only_on_rank(rank, "cd elsewhere"))

    def test_a_golden_file_that_one_rank_cannot_see_ends_all(self):
        (self.folder / "golden.h5").write_bytes(b"not HDF5")

        self.refuses(3, "golden.h5", 4, "verify", "--golden", "golden.h5", cwd=self.folder,
                     wrapper=only_on_rank(1, "cd elsewhere"))

    def test_memory_that_runs_out_on_one_rank_ends_all_with_4(self):
        wrapper = only_on_rank(1, "ulimit -v 700000")  # [KiB]
        arguments = ["gemm", "--mesh", "3x1", "-m", 3, "-k", 1 << 20, "-n"]
        if run(3, *arguments, 1, wrapper=wrapper).code != 0:
            self.skipTest("the program itself needs more than the limit, as with sanitizers")

        self.refuses(4, "rank 1: out of memory", 3, *arguments, 400, wrapper=wrapper)  # 560 MB a rank


class Ends(Case):
    LONG = ["generate", "--prompt-ids", "5", "-n", 1000, "--ignore-eos", "--mesh", "30x30"]

    def start(self, ranks):
        wrapper = ["sh", "-c", 'echo $$ > pid.$OMPI_COMM_WORLD_RANK; exec "$@"', "sh"]
        process = subprocess.Popen(command(ranks, *self.LONG, wrapper=wrapper), cwd=self.folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.assertNotEqual(b"", process.stdout.read1())  # it generates
        return process

    def test_a_killed_rank_ends_the_job(self):
        for rank in (0, 2):
            with self.subTest(rank=rank):
                process = self.start(4)
                os.kill(int((self.folder / f"pid.{rank}").read_text()), signal.SIGKILL)
                start = time.monotonic()
                process.communicate(timeout=60)
                self.assertLess(time.monotonic() - start, soon(4))
                self.assertEqual(128 + signal.SIGKILL, process.returncode)

    def test_a_closed_stdout_ends_the_job(self):
        for ranks in (1, 4):
            with self.subTest(ranks=ranks):
                process = self.start(ranks)
                process.stdout.close()
                start = time.monotonic()
                self.assertNotEqual(0, process.wait(60))
                self.assertLess(time.monotonic() - start, soon(4))


if __name__ == "__main__":
    main()
