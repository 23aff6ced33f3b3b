"""bench: a few of its cases, to see that they measure and check what they say."""
from support import Case, main


class Bench(Case):
    def test_a_pair_has_both_times_its_bound_and_what_the_baseline_did(self):
        result = self.good(2, "bench", "gemv", "device-decode", "--reps", 2, "--json").json()
        self.assertEqual(["gemv", "device-decode"], [case["case"] for case in result["cases"]])
        for case in result["cases"]:
            self.assertEqual((2, 2), (len(case["seconds"]), len(case["baseline_seconds"])))
            self.assertTrue(case["good"])
            self.assertAlmostEqual(case["figure"], case["median"] / case["baseline_median"])
            self.assertEqual(case["met"], case["figure"] <= case["at_most"])
            self.assertGreater(case["baseline_rate"], 0.0)

    def test_a_case_without_baseline_is_bound_by_seconds(self):
        [case] = self.good(4, "bench", "decode-folio", "--reps", 1, "--json").json()["cases"]
        self.assertEqual(case["median"], case["figure"])
        self.assertNotIn("baseline_median", case)

    def test_a_case_for_other_ranks_says_so(self):
        self.refuses(4, "mpirun -n 16", 2, "bench", "gemm-crowded")


if __name__ == "__main__":
    main()
