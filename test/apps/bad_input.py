"""Bad input ends with one line that names it and the documented exit code, soon, on one rank and on four."""
import json
import os
import shutil
import subprocess

from support import FOLIO, TINY, Case, command, main, read_safetensors, write_safetensors

USAGE, INPUT, FIT = 2, 3, 4
IDS = ["--prompt-ids", "1,2,3", "-n", "2"]


class CommandLine(Case):
    def test_what_is_wrong_on_the_command_line_ends_with_2(self):
        for says, arguments in (
                ("unknown subcommand", ["generat"]),
                ("subcommand is required", []),
                ("--bogus", ["generate", "--bogus"]),
                ("--mesh", ["generate", "--mesh", "0x4", "-p", "x"]),
                ("--mesh", ["gemm", "--mesh", "4"]),
                ("--decode-mesh", ["verify", "--decode-mesh", "ax3"]),
                ("--ranks-grid", ["gemm", "--mesh", "4x4", "--ranks-grid", "3x5"]),
                ("--kv", ["generate", "--kv", "stack", "-p", "x"]),
                ("--prompt-ids", ["generate", "--prompt-ids", "1,,2"]),
                ("--prompt-ids", ["verify", "--prompt-ids", "99999999999999999999"]),
                ("excludes", ["generate", "-p", "x", "--prompt-ids", "1"]),
                ("--out", ["convert"])):
            with self.subTest(arguments=arguments):
                self.refuses(USAGE, says, 1, *arguments)
        self.refuses(USAGE, "unknown subcommand", 4, "generat")
        self.refuses(USAGE, "--mesh", 4, "generate", "--mesh", "0x4", "-p", "x")

    def test_what_does_not_fit_ends_with_4(self):
        for ranks in (1, 4):
            for says, arguments in (
                    ("not in the vocabulary", ["generate", "--prompt-ids", "1,2048", "-n", "2"]),
                    ("not in the vocabulary", ["verify", "--prompt-ids", "-1"]),
                    ("context", ["generate", "-p", "Call me", "-n", "1024"]),
                    ("-n 1023", ["generate", "--prompt-ids", "1", "-n", "1024"]),
                    ("context", ["verify", "--prompt-ids", ",".join(["5"] * 1025)])):
                with self.subTest(ranks=ranks, arguments=arguments):
                    self.refuses(FIT, says, ranks, *arguments)
        for arguments in (["gemm", "--mesh", "1x3"], ["generate", "--mesh", "3x1", "-p", "x"],
                          ["verify", "--mesh", "2x2", "--decode-mesh", "1x2"]):
            with self.subTest(arguments=arguments):
                self.refuses(FIT, "more ranks than cores", 4, *arguments)

    def test_a_prompt_file_longer_than_the_context_ends_with_4(self):
        long = self.folder / "long.txt"
        long.write_text("It is a truth universally acknowledged. " * 300)

        self.refuses(FIT, "context", 4, "generate", "-f", long)
        self.refuses(INPUT, "missing.txt", 4, "generate", "-f", self.folder / "missing.txt")


class Output(Case):
    def test_what_cannot_be_written_ends_with_3_before_the_work(self):
        nowhere = self.folder / "missing" / "out"

        for ranks in (1, 4):
            self.refuses(INPUT, "cannot write", ranks, "convert", "--out", f"{nowhere}.h5")
            for arguments in (["gemm", "-m", 9], ["verify"], ["generate", "-p", "x"], ["inspect"]):
                with self.subTest(ranks=ranks, arguments=arguments):
                    self.refuses(INPUT, "cannot write", ranks, *arguments, "--mesh", "4x4", "--out", nowhere)
        self.refuses(INPUT, "cannot write", 1, "gemm", "--out", self.folder)

    def test_a_full_disk_behind_stdout_ends_with_3(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        for arguments in (["gemm"], ["generate", "-p", "x", "-n", "5", "--quiet"], ["inspect", "--json"]):
            with self.subTest(arguments=arguments), open("/dev/full", "w", encoding="utf-8") as full:
                process = subprocess.run(command(1, *arguments), stdout=full,
                                                 stderr=subprocess.PIPE, text=True, timeout=60,
                                                 check=False)
                self.assertEqual(INPUT, process.returncode)
                self.assertIn("cannot write to stdout", process.stderr)


class Models(Case):
    def refuses_model(self, says, model, ranks=(1,), code=INPUT):
        for count in ranks:
            self.refuses(code, says, count, "generate", "--model", model, *IDS)

    def test_a_model_that_is_not_there_is_refused(self):
        empty = self.folder / "empty"
        empty.mkdir()

        self.refuses_model("not found", self.folder / "missing", (1, 4))
        self.refuses_model("config.json", empty, (1, 4))

    def test_a_bad_config_is_refused_by_key(self):
        model = self.tiny()
        rope = {"rope_type": "spiral", "rope_theta": 1e4, "factor": 2.0}
        needed = ("model_type", "hidden_size", "num_hidden_layers", "num_attention_heads",
                  "intermediate_size", "vocab_size", "max_position_embeddings")
        bad = [(key, {k: v for k, v in TINY.items() if k != key}) for key in needed]
        bad += [("model_type", TINY | {"model_type": "gpt2"}), ("rope_type", TINY | {"rope_parameters": rope}),
                ("num_key_value_heads", TINY | {"num_key_value_heads": 4}),
                ("hidden_size", TINY | {"hidden_size": "wide"}), ("vocab_size", TINY | {"vocab_size": -1})]
        for number, (key, config) in enumerate(bad):
            with self.subTest(key=key, number=number):
                (model / "config.json").write_text(json.dumps(config))
                self.refuses_model(key, model, (1, 4) if number % 4 == 0 else (1,))
        (model / "config.json").write_text('{"model_type": ')
        self.refuses_model("not valid JSON", model, (4,))

    def test_a_truncated_file_of_weights_is_refused(self):
        model = self.tiny()
        whole = (model / "model.safetensors").read_bytes()
        for tenth in range(10):
            with self.subTest(tenth=tenth):
                (model / "model.safetensors").write_bytes(whole[:len(whole) * tenth // 10])
                self.refuses_model("model.safetensors", model, (1, 4) if tenth % 3 == 0 else (1,))

    def test_a_header_that_lies_is_refused(self):
        model = self.tiny()
        weights = model / "model.safetensors"
        header, data = read_safetensors(weights)
        name = "model.norm.weight"
        begin, end = header[name]["data_offsets"]
        lies = ({"data_offsets": [begin, end + 4]}, {"data_offsets": [end, begin]},
                {"data_offsets": [begin + 4, end + 4]},
                {"data_offsets": [begin, 1 << 62]}, {"data_offsets": [-4, end]},
                {"shape": [36]}, {"shape": [5, 7]}, {"shape": [1 << 40, 1 << 40]},
                {"shape": "35"}, {"dtype": "F64"}, {"dtype": "F16"}, {"dtype": "F33"}, {"dtype": 7})
        for number, lie in enumerate(lies):
            with self.subTest(lie=lie):
                write_safetensors(weights, header | {name: header[name] | lie}, data)
                self.refuses_model(name, model, (1, 4) if number % 5 == 0 else (1,))

    def test_a_tensor_that_is_missing_or_of_another_shape_is_refused(self):
        model = self.tiny()
        config = model / "config.json"
        for says, changes in (("model.layers.1.", {"num_hidden_layers": 2}),
                              ("q_proj.weight", {"head_dim": 8}), ("mlp", {"intermediate_size": 54}),
                              ("bias", {"attention_bias": True}), ("embed_tokens", {"vocab_size": 103})):
            with self.subTest(changes=changes):
                config.write_text(json.dumps(TINY | changes))
                self.refuses_model(says, model, (1, 4))

    def test_a_pipe_in_place_of_a_file_is_refused_and_not_waited_for(self):
        model = self.tiny()
        for name in ("model.safetensors", "config.json"):
            (model / name).rename(self.folder / name)
            os.mkfifo(model / name)
            self.refuses_model(name, model, (1, 4))
            (model / name).unlink()
            (self.folder / name).rename(model / name)

    def test_without_a_tokenizer_the_message_names_the_flag_that_needs_none(self):
        model = self.tiny()

        for ranks in (1, 4):
            self.refuses(INPUT, "--prompt-ids", ranks, "generate", "--model", model, "-p", "x", "-n", "1")
        self.good(1, "generate", "--model", model, *IDS)

    def test_a_bad_tokenizer_is_refused(self):
        model = self.folder / "folio"
        shutil.copytree(FOLIO, model)
        (model / "tokenizer.json").write_text('{"model": {"type": "Unigram"}}')

        self.refuses(INPUT, "tokenizer.json", 4, "generate", "--model", model, "-p", "x", "-n", "1")

    def test_a_damaged_golden_file_is_refused(self):
        golden = self.folder / "golden.h5"
        golden.write_bytes((FOLIO / "golden.h5").read_bytes()[:20000])

        self.refuses(INPUT, "golden.h5", 4, "verify", "--golden", golden)
        self.refuses(INPUT, "golden.h5", 1, "verify", "--model", self.tiny(), "--golden", FOLIO / "golden.h5")


if __name__ == "__main__":
    main()
