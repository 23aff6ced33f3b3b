"""Generation gives the golden tokens on any number of ranks, and text as its reader expects it."""
import struct
import subprocess

from support import FOLIO, STORIES, Case, command, main


def is_in(golden, ids: list[int]) -> bool:
    """Whether a golden file holds these ids one behind the other, as it does in the dataset greedy_ids."""
    return struct.pack(f"<{len(ids)}i", *ids) in golden.read_bytes()


class WritesGolden(Case):
    def check(self, model, prompt, count):
        texts = set()
        for ranks, mesh in ((1, "3x3"), (2, "3x3"), (3, "5x2"), (4, "2x7")):
            with self.subTest(ranks=ranks, mesh=mesh):
                made = self.good(ranks, "generate", "--model", model, "-p", prompt, "-n", count,
                                 "--mesh", mesh, "--json").json()
                self.assertEqual(count, len(made["ids"]))
                self.assertTrue(is_in(model / "golden.h5", made["ids"]), made["ids"])
                self.assertTrue(made["text"].startswith(prompt))
                texts.add(made["text"])
        self.assertEqual(1, len(texts))


class Golden(WritesGolden):
    PROMPT = "It is a truth universally acknowledged"

    def test_folio_writes_the_golden_tokens_on_any_ranks(self):
        self.check(FOLIO, self.PROMPT, 96)

    def test_one_wrong_token_would_be_noticed(self):
        ids = self.good(1, "generate", "-p", self.PROMPT, "-n", 96, "--json").json()["ids"]

        self.assertFalse(is_in(FOLIO / "golden.h5", [*ids[:-1], ids[-1] + 1]))


class Stories(WritesGolden):
    def test_stories_writes_the_golden_tokens_on_any_ranks(self):
        if not (STORIES / "golden.h5").exists():
            self.skipTest(f"no model in {STORIES}")
        self.check(STORIES, "Once upon a time", 200)


class Sampling(Case):
    def sampled(self, ranks, *flags):
        return self.good(ranks, "generate", "-p", "Call me", "-n", 20, "--mesh", "3x5", "--json",
                         "--temperature", "1.1", *flags).json()["text"]

    def test_equal_seeds_give_equal_text_on_any_ranks(self):
        for flags in (["--seed", "7"], ["--seed", "7", "--top-k", "20"],
                      ["--seed", "7", "--top-k", "50", "--top-p", "0.8"]):
            with self.subTest(flags=flags):
                self.assertEqual(1, len({self.sampled(ranks, *flags) for ranks in (1, 2, 3, 4)}))

    def test_another_seed_gives_another_text(self):
        self.assertEqual(3, len({self.sampled(1, "--seed", seed) for seed in (1, 2, 3)}))

    def test_the_likeliest_alone_is_what_greedy_takes(self):
        greedy = self.good(1, "generate", "-p", "Call me", "-n", 20, "--mesh", "3x5", "--json").json()["text"]

        self.assertEqual(greedy, self.sampled(1, "--top-k", "1"))
        self.assertEqual(greedy, self.sampled(2, "--top-p", "0"))


class EndOfSequence(Case):
    def test_generation_stops_at_it_or_goes_on_as_told(self):
        free = self.tiny()
        ids = self.good(1, "generate", "--model", free, "--prompt-ids", "5,6,7", "-n", 12, "--json",
                        "--ignore-eos").json()["ids"]
        eos = ids[6]
        stop = self.tiny("stop", eos_token_id=[eos])
        for ranks in (1, 3):
            with self.subTest(ranks=ranks):
                arguments = ["generate", "--model", stop, "--prompt-ids", "5,6,7", "-n", 12, "--json"]
                made = self.good(ranks, *arguments).json()
                self.assertEqual(ids[:ids.index(eos)], made["ids"])
                self.assertEqual("eos", made["stopped_by"])
                made = self.good(ranks, *arguments, "--ignore-eos").json()
                self.assertEqual(ids, made["ids"])
                self.assertEqual("length", made["stopped_by"])


class Text(Case):
    PROMPT = "café — 日本 🙂"

    def test_stdout_holds_prompt_and_continuation_and_nothing_else(self):
        arguments = ["generate", "-p", "Call me", "-n", 6]
        loud, quiet = self.good(2, *arguments), self.good(2, *arguments, "--quiet")
        made = self.good(1, *arguments, "--json", "--quiet")

        self.assertEqual(made.json()["text"] + "\n", quiet.out)
        self.assertEqual(quiet.out, loud.out)
        self.assertEqual("Call me" + made.json()["generated"], made.json()["text"])
        self.assertEqual("", quiet.err + made.err)
        self.assertIn("tokens/s", loud.err)

    def test_a_prompt_from_a_file_is_the_same_prompt(self):
        file = self.folder / "prompt.txt"
        file.write_text(self.PROMPT)
        texts = {self.good(2, "generate", *prompt, "-n", 4, "--quiet").out
                 for prompt in (["-p", self.PROMPT], ["-f", file])}

        self.assertEqual(1, len(texts))

    def test_the_json_goes_to_a_file_as_well(self):
        file = self.folder / "result.json"
        made = self.good(2, "generate", "-p", "Call me", "-n", 4, "--json", "--out", file)

        self.assertEqual(made.out, file.read_text())
        self.assertEqual([file], list(self.folder.iterdir()))

    def test_the_summary_shows_how_the_cache_fills(self):
        for kv, rows in (("shift", "3 3 3"), ("concat", "1 1 7")):
            err = self.good(2, "generate", "--prompt-ids", "5,6,7", "-n", 7, "--ignore-eos", "--mesh", "3x2",
                            "--kv", kv, "--show-cache").err
            self.assertIn(f"tokens of each row  {rows}\n", err)

    def test_streaming_never_splits_a_character(self):
        # Drawn from all tokens at a high temperature, bytes of all kinds come up.
        process = subprocess.Popen(command(1, "generate", "-p", self.PROMPT, "-n", 150, "--temperature", "30",
                                           "--ignore-eos", "--quiet"), stdout=subprocess.PIPE)
        pieces = []
        while piece := process.stdout.read1():
            pieces.append(piece.decode("utf-8"))  # fails for a part of a character
        process.stdout.close()

        self.assertEqual(0, process.wait(60))
        self.assertGreater(len(pieces), 20)
        self.assertTrue("".join(pieces).startswith(self.PROMPT))


if __name__ == "__main__":
    main()
