"""What models make of a job's prompts as they train (eval.prompts), and how two runs are shown side
by side."""

import unittest

from cluster import ClusterTest, tiny_job

PROMPTS = ["Give three tips", "What is"]
SAID = {
    "data__val_split_fraction": 0.25,
    "eval": {"every_steps": 2, "prompts": PROMPTS, "max_new_tokens": 12, "temperature": 1},
}


class Texts(ClusterTest):
    def said_by(self, name, **changes):
        """The job's id, and {step: its texts by place}."""
        code, job = self.run_job(tiny_job(name=name, **SAID, **changes))
        self.assertEqual(code, 0, job)
        said = {}
        for text in self.json("describe", job["id"])["jobs"][0]["continuations"]:
            said.setdefault(text["step"], []).append(text["text"])
        self.assertGreater(len(said), 1)
        self.assertEqual({len(texts) for texts in said.values()}, {len(PROMPTS)})
        return job["id"], said

    def test_compare_shows_the_first_and_the_last_of_each_run_side_by_side(self):
        calm, of_calm = self.said_by("calm", optimizer={"lr": 1e-6})
        wild, of_wild = self.said_by("wild", optimizer={"lr": 3e-2})
        self.assertNotEqual(of_wild[min(of_wild)], of_wild[max(of_wild)], "something was learned")
        rows = {row["key"]: row for row in self.json("compare", calm, wild)["rows"]}
        shown = self.trainctl("compare", calm, wild).stdout
        for key, choose in (("text_first", min), ("text_last", max)):
            for place, prompt in enumerate(PROMPTS):
                row = rows[f"{key}.{place}"]
                self.assertEqual(row["label"], prompt)
                expected = [said[choose(said)][place] for said in (of_calm, of_wild)]
                self.assertEqual(row["values"], expected)
                for job, said in ((f"calm ({calm})", of_calm), (f"wild ({wild})", of_wild)):
                    self.assertIn(f"{job}, step {choose(said)}: ", shown)
        self.assertLess(shown.index(PROMPTS[0]), shown.index(PROMPTS[1]))


if __name__ == "__main__":
    unittest.main()
