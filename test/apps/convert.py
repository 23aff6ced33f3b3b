"""A model is the same model in both forms, and a made-up model of any shape runs; inspect describes it."""
import json

from support import FOLIO, TINY, Case, main


class Convert(Case):
    def hash_of(self, model, ranks, *flags):
        found = self.good(ranks, "verify", "--model", model, "--json", *flags).json()
        self.assertTrue(found["good"])
        return found["logits_hash"]

    def test_folio_as_one_file_has_the_same_bits(self):
        file = self.folder / "folio.h5"
        self.assertEqual(f"wrote {file}\n", self.good(2, "convert", "--out", file).out)

        self.assertEqual(self.hash_of(FOLIO, 1, "--mesh", "3x4"), self.hash_of(file, 2, "--mesh", "3x4"))
        texts = {self.good(1, "generate", "--model", model, "-p", "Call me", "-n", 5, "--quiet").out
                 for model in (FOLIO, file)}
        self.assertEqual(1, len(texts))  # the tokenizer went along

    def test_a_made_up_model_of_odd_sizes_verifies_in_both_forms(self):
        config = self.folder / "config.json"
        config.write_text(json.dumps(TINY))
        hashes = {}
        for name in ("model.h5", "model"):
            out = self.folder / name
            made = self.good(2, "convert", "--random", config, "--seed", "3", "--out", out, "--json").json()
            self.assertEqual(str(out), made["written"])
            for ranks in (1, 4):
                hashes[name, ranks] = self.hash_of(out, ranks, "--mesh", "2x3")
        self.assertEqual(1, len(set(hashes.values())), hashes)

    def test_a_directory_that_has_weights_is_not_written_over(self):
        model = self.tiny()
        before = (model / "model.safetensors").read_bytes()

        self.refuses(3, "already has weights", 1, "convert", "--random", self.folder / "tiny.json",
                     "--out", model)
        self.assertEqual(before, (model / "model.safetensors").read_bytes())


class Inspect(Case):
    def test_it_counts_every_weight_once(self):
        for mesh in ("1x1", "2x3", "7x9"):
            found = self.good(1, "inspect", "--model", self.tiny(mesh), "--mesh", mesh, "--json").json()
            rows, columns = map(int, mesh.split("x"))
            vectors = 3 * TINY["hidden_size"] * 4  # norms, which every rank has
            self.assertAlmostEqual(found["weight_bytes"] - vectors,
                                   found["weight_bytes_per_core"]["mean"] * rows * columns, places=3)
            kv = 2 * TINY["num_key_value_heads"] * TINY["head_dim"] * 4
            self.assertAlmostEqual(kv, found["kv_bytes_per_token_and_core"]["mean"] * columns, places=3)

    def test_it_shows_every_part_of_the_configuration(self):
        model = self.tiny(model_type="mistral", sliding_window=9, tie_word_embeddings=True)
        out = self.good(2, "inspect", "--model", model, "--mesh", "3x3", "--decode-mesh", "2x7").out

        for part in ("mistral, 1 layers", "no tokenizer", "15 heads, 5 KV heads", "rope       default",
                     "9 tokens in 1 of 1 layers", "tied embeddings", "biases: none",
                     "prefill    mesh 3x3: 3 runs", "decode     mesh 2x7: 5 runs",
                     "columns 0-1: KV heads 0, 3 query heads"):
            self.assertIn(part, out)


if __name__ == "__main__":
    main()
