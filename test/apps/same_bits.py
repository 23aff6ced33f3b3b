"""verify holds on meshes of all kinds, and its hash says that ranks, tiles and threads change no bit."""
from support import FOLIO, GOLDEN, Case, main, run

ODD = GOLDEN / "llama-odd"


class SameBits(Case):
    def hash_of(self, ranks, *flags, model=ODD):
        found = self.good(ranks, "verify", "--model", model, "--json", *flags).json()
        self.assertTrue(found["good"])
        return found["logits_hash"]

    def same(self, mesh, variants):
        hashes = {(ranks, *flags): self.hash_of(ranks, "--mesh", mesh, *flags) for ranks, *flags in variants}
        self.assertEqual(1, len(set(hashes.values())), hashes)
        return set(hashes.values())

    def test_neither_ranks_nor_threads_nor_tiles_change_a_bit(self):
        few = self.same("3x3", [(1,), (2,), (3,), (4,), (6,), (1, "--threads", 3), (3, "--threads", 3),
                                (6, "--ranks-grid", "2x3"), (6, "--ranks-grid", "6x1"),
                                (4, "--ranks-grid", "1x4")])
        many = self.same("7x5", [(1,), (2,), (3,), (4,), (6,), (1, "--threads", 3), (2, "--threads", 3),
                                 (6, "--ranks-grid", "3x2"), (6, "--ranks-grid", "1x6"),
                                 (3, "--ranks-grid", "3x1")])

        self.assertNotEqual(few, many)  # another mesh adds in another order, so the hash sees single bits

    def test_both_caches_verify(self):
        for kv in ("shift", "concat"):
            self.same("5x3", [(ranks, "--kv", kv) for ranks in (1, 4)])

    def test_another_mesh_for_decode_verifies(self):
        self.same("3x3", [(ranks, "--decode-mesh", "2x5") for ranks in (1, 3, 4)])
        self.same("5x2", [(ranks, "--decode-mesh", "7x1") for ranks in (1, 2, 4)])

    def test_the_model_of_the_repository_verifies_with_its_golden_tokens(self):
        golden = ["--golden", FOLIO / "golden.h5", "--mesh", "4x5"]
        self.assertEqual(1, len({self.hash_of(ranks, *golden, model=FOLIO) for ranks in (1, 3)}))

    def test_the_hash_of_a_product_is_the_same_on_any_ranks(self):
        for algorithm in ("mesh", "mesh-t"):
            found = [self.good(ranks, "gemm", "--mesh", "5x3", "-m", 31, "-n", 1, "-k", 47, "--json",
                               "--algorithm", algorithm).json() for ranks in (1, 2, 4)]
            self.assertEqual(1, len({result["hash"] for result in found}))
            self.assertTrue(all(result["good"] for result in found))

    def test_a_bound_that_cannot_be_met_ends_with_5(self):
        for ranks in (1, 2):
            ended = run(ranks, "verify", "--model", ODD, "--mesh", "3x3", "--tolerance", "1e-30", "--quiet")
            self.assertEqual(5, ended.code)
            self.assertIn("FAILED", ended.out)


if __name__ == "__main__":
    main()
