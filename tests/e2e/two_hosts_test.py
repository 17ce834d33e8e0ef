"""A gang over two hosts, whose link is cut and restored, and whose disks may be their own."""

import json
import unittest

from cluster import ALPACA
from two_hosts import ADDRESSES, SECOND_ADDRESSES, TwoHostsTest, hex_address


class TwoHosts(TwoHostsTest):
    def test_it_trains_as_one_device_does_and_speaks_over_the_link_alone(self):
        one = self.submit(name="one", devices=1, train__max_steps=12)
        self.assertEqual(self.wait_for_end(one)["outcome"], "SUCCEEDED")
        four = self.submit(
            name="four", devices=4, train__max_steps=12, output={"dir": str(self.dir / "out"),
                                                                 "save": "final"}
        )  # fmt: skip
        self.assertEqual(self.wait_for_end(four)["outcome"], "SUCCEEDED")
        self.assertEqual(self.losses(four), self.losses(one))
        self.trainctl("artifacts", "get", four, self.dir / "copy", host="b")
        copied = [path.name for path in (self.dir / "copy").rglob("*.safetensors")]
        self.assertTrue(copied)

        endless = self.submit(name="endless", devices=4, train__max_steps=10_000_000,
                              train__epochs=1_000_000)  # fmt: skip
        self.wait_for_step(endless, 3)
        ranks = self.ranks()
        self.assertEqual(len(ranks), 4)
        allowed = {hex_address(address) for address in ADDRESSES.values()}
        for rank in ranks:
            sockets = self.sockets_of(rank)
            self.assertTrue(sockets, rank)
            self.assertLessEqual(set(sockets), allowed)
        self.trainctl("cancel", endless)
        self.assertEqual(self.wait_for_end(endless)["outcome"], "CANCELLED")
        self.eventually("all are free", 60, lambda: self.states() == ["READY"] * 4)

    def test_a_link_that_is_cut_for_a_moment_delays_the_job_and_no_more(self):
        steps = {"train__max_steps": 150, "train__epochs": 1000}
        job = self.submit(name="cut", devices=4, **steps)
        self.wait_for_step(job, 5)
        self.hosts["b"].set_link("down")
        self.wait_for_standstill(job)
        self.hosts["b"].set_link("up")
        self.assertEqual(self.wait_for_end(job, 240)["outcome"], "SUCCEEDED")
        self.assertEqual(len(self.attempts(job)), 1)
        one = self.submit(name="one", devices=1, **steps)
        self.assertEqual(self.wait_for_end(one, 240)["outcome"], "SUCCEEDED")
        self.assertEqual(self.losses(job), self.losses(one))

    def test_a_link_that_stays_cut_ends_the_gang_which_goes_on_from_its_checkpoint(self):
        steps = {"train__max_steps": 200, "train__epochs": 1000}
        job = self.submit(name="lost", devices=4, **steps, checkpoint={"every_steps": 5},
                          resources={"max_restarts": 1},
                          output={"dir": str(self.dir / "kept")})  # fmt: skip
        self.wait_for_step(job, 12)
        self.hosts["b"].set_link("down")
        self.eventually("b is LOST", 60, lambda: self.state_of("b") == {"LOST"})
        self.eventually("all ranks have ended", 90, lambda: not self.ranks())
        alone = self.job(job)
        self.assertEqual(
            (alone["state"], alone["attempt"]), ("STOPPING", 1), "b has proven nothing"
        )
        self.hosts["b"].set_link("up")
        self.assertEqual(self.wait_for_end(job, 300)["outcome"], "SUCCEEDED")
        first, second = self.attempts(job)
        self.assertEqual(second["outcome"], "SUCCEEDED")
        self.assertIn(first["outcome"], ("NODE_LOST", "NCCL_ERROR"))
        losses = self.losses(job)
        self.assertEqual(len(losses), 200)
        one = self.submit(name="one", devices=1, **steps)
        self.assertEqual(self.wait_for_end(one, 300)["outcome"], "SUCCEEDED")
        self.assertEqual(losses, self.losses(one))


class TwoLinks(TwoHostsTest):
    """The hosts' workers are told a data interface beside that towards the coordinator."""

    def prepare_hosts(self):
        ends = self.ends_of_link("c", "d")
        self.make_link(*ends)
        for host, end in zip(self.hosts.values(), ends, strict=True):
            host.take_second_link(end)

    def worker_options(self, host):
        return ("--data-interface", SECOND_ADDRESSES[host])

    def test_what_ranks_say_to_each_other_goes_over_the_data_interface_alone(self):
        before = {name: host.bytes_sent("data") for name, host in self.hosts.items()}
        job = self.submit(name="endless", devices=4, train__max_steps=10_000_000,
                          train__epochs=1_000_000)  # fmt: skip
        self.wait_for_step(job, 10)
        for rank in self.ranks():
            sockets = self.sockets_of(rank)
            self.assertTrue(sockets, rank)
            allowed = {hex_address(address) for address in SECOND_ADDRESSES.values()}
            self.assertLessEqual(set(sockets), allowed)
        for name, host in self.hosts.items():
            others = host.bytes_sent("data") - before[name]
            self.assertGreater(host.bytes_sent("second"), 4 * others, name)
        self.trainctl("cancel", job)
        self.assertEqual(self.wait_for_end(job)["outcome"], "CANCELLED")


class OwnDisks(TwoHostsTest):
    """Host b has a disk of its own where host a has another."""

    def prepare_hosts(self):
        self.results = self.dir / "results"
        self.results.mkdir()
        self.hosts["b"].take_disk(self, self.results)

    def gang(self, name, **changes):
        return self.submit(name=name, devices=4, strategy="fsdp", train__max_steps=4,
                           output={"dir": str(self.results / name), "save": "final"},
                           **changes)  # fmt: skip

    def test_checkpoints_of_a_gang_are_refused_before_it_trains(self):
        job = self.gang("kept", checkpoint={"every_steps": 2})
        end = self.wait_for_end(job)
        self.assertEqual((end["outcome"], end["step"]), ("FAILED", 0))
        self.assertIn("checkpoints of a gang need a folder that all its hosts share",
                      end["message"])  # fmt: skip

    def test_hosts_with_other_rows_do_not_train_together(self):
        rows = json.loads(ALPACA.read_text())
        for host, count in (("a", 40), ("b", 39)):
            text = json.dumps(rows[:count])
            self.on(host, "sh", "-c", 'printf %s "$1" > "$0"', self.results / "rows.json", text)
        job = self.gang("other", data={"path": str(self.results / "rows.json")})
        end = self.wait_for_end(job)
        self.assertEqual((end["outcome"], end["step"]), ("FAILED", 0))
        self.assertIn("the ranks have other data: rank 0 has 40 rows", end["message"])

    def test_the_model_lies_on_rank_0s_host_and_is_got_from_any(self):
        job = self.gang("model")
        self.assertEqual(self.wait_for_end(job)["outcome"], "SUCCEEDED")
        self.assertEqual(self.on("b", "ls", self.results).stdout, "")
        self.trainctl("artifacts", "get", job, self.dir / "copy", host="b")
        copied = {path.name for path in (self.dir / "copy").rglob("*") if path.is_file()}
        saved = {path.name for path in (self.results / "model").iterdir() if path.is_file()}
        self.assertLessEqual(saved, copied)
        self.assertIn("config.json", saved)


if __name__ == "__main__":
    unittest.main()
