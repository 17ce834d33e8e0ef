"""Words of trainctl that real shells complete: verbs, jobs, settings and metrics."""

import shutil
import unittest

from cluster import ClusterTest, tiny_job
from top_test import Tmux

WORDS = (
    ("trainctl descri", "trainctl describe"),
    ("trainctl describe my", "trainctl describe my-first"),
    ("trainctl plot my-first --metric val_l", "--metric val_loss"),
    ("trainctl submit job.json --train.micro", "--train.micro_batch_size"),
    ("trainctl submit job.json --precision bf16-t", "--precision bf16-true"),
    ("trainctl submit job.json --set precision=bf16-m", "--set precision=bf16-mixed"),
    ("trainctl sweep job.json --matrix precision=32-true,bf16-m", "=32-true,bf16-mixed"),
    ("trainctl status --state running,succ", "--state running,succeeded"),
    ("trainctl top --columns b", "--columns bsc"),
)
SECONDS = 30


@unittest.skipIf(shutil.which("tmux") is None, "no tmux on this host")
class CompletionTest(ClusterTest):
    WORKERS = 1

    def setUp(self):
        super().setUp()
        self.server = (self.dir / "coordinator.addr").read_text().strip()
        self.assertEqual(self.run_job(tiny_job(name="my-first"))[0], 0)

    def expect_completed(self, shell, *lines):
        tmux = Tmux(self.dir, 100, 30, TRAINCTL_SERVER=self.server, TERM="screen-256color")
        self.addCleanup(tmux.close)
        for line in (shell, *lines, "echo read''y"):
            tmux.type(line)
        self.eventually("the shell is ready", SECONDS, lambda: "\nready" in tmux.picture())
        for typed, completed in WORDS:
            with self.subTest(typed):
                tmux.keys("C-u", "C-l")
                tmux.run("send-keys", "-l", typed)
                tmux.keys("Tab")
                self.eventually(completed, SECONDS, lambda: completed in tmux.picture())

    def test_bash_completes_what_is_typed(self):
        self.expect_completed("bash --norc", "source <(trainctl completion bash)")

    @unittest.skipIf(shutil.which("zsh") is None, "no zsh on this host")
    def test_zsh_completes_what_is_typed(self):
        self.expect_completed(
            "zsh -f", "autoload -U compinit; compinit -u -D", "source <(trainctl completion zsh)"
        )


if __name__ == "__main__":
    unittest.main()
