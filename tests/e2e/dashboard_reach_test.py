"""Who can't see the dashboard, or has no mouse, uses it too: what Chromium tells a screen reader,
and where the Tab key leads."""

import unittest

from cluster import endless_job, tiny_job
from dashboard import HOSTILE, DashboardCase

NAMED = {
    *("button", "checkbox", "combobox", "DisclosureTriangle", "image", "link", "log"),
    *("progressindicator", "searchbox", "slider", "spinbutton", "table", "textbox"),
}
TAB, ENTER, SPACE = "\ue004", "\ue007", " "
FOCUS = """
const at = document.activeElement;
if (at === document.body) return null;
const seen = window.focused ??= [];
const goesOn = seen.length === 0
  || (seen.at(-1).compareDocumentPosition(at) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
seen.push(at);
const look = getComputedStyle(at);
return {what: `${at.tagName} ${at.id} ${at.textContent.slice(0, 30)}`, goesOn,
  outlined: look.outlineStyle !== "none" && look.outlineWidth !== "0px"};
"""


class DashboardReachTest(DashboardCase):
    def keys(self, *pressed):
        actions = [{"type": kind, "value": k} for k in pressed for kind in ("keyDown", "keyUp")]
        self.browser.do("actions", {"actions": [{"type": "key", "id": "k", "actions": actions}]})

    def nodes(self):
        """(role, name) of all that a screen reader is told of, in its order."""
        tree = self.browser.command("Accessibility.getFullAXTree")["nodes"]
        return [
            (node["role"]["value"], node.get("name", {}).get("value", "").strip())
            for node in tree
            if not node.get("ignored")
        ]

    def pages(self):
        """Each page with a script that is true once it shows something."""
        job = self.finished(tiny_job(name=HOSTILE))
        lab = {"base": tiny_job(), "experiments": [{"name": "one"}, {"name": "two"}]}
        lab["base"].pop("name")
        group = self.json("submit", self.write_job(lab))["group"]
        self.assertEqual(self.trainctl("wait", group).returncode, 0)
        self.submit(endless_job(devices=2, strategy="ddp"))
        self.submit(endless_job(name="waits"))
        return {
            "": "#jobs tr",
            f"job?job={job}": "#settings tr",
            f"lab?group={group}": ".experiment tbody tr",
            f"compare?job={group}": "#curves tbody tr",
            "queue": "#queue tr",
        }

    def expect_names(self, page, nodes):
        for role, name in nodes:
            if role in NAMED:
                self.assertNotEqual(name, "", f"{page}: a {role} without a name")
        roles = [role for role, _ in nodes]
        for landmark in ("banner", "main", "navigation"):
            self.assertEqual(roles.count(landmark), 1, f"{page}: {landmark}")
        self.assertIn(("navigation", "Pages"), nodes)
        self.assertIn(("link", "To the content"), nodes)
        self.assertEqual(roles.count("alert"), 0, f"{page}: nothing is wrong")
        headers = roles.count("columnheader") + roles.count("rowheader")
        self.assertGreaterEqual(headers, roles.count("table"), f"{page}: tables have headers")

    def expect_headings(self, page):
        levels = self.browser.run(
            "return [...document.querySelectorAll('h1, h2, h3')]"
            ".filter((one) => one.offsetParent).map((one) => Number(one.tagName[1]))"
        )
        self.assertEqual(levels[0], 1, page)
        self.assertEqual(levels.count(1), 1, page)
        for above, below in zip(levels, levels[1:], strict=False):
            self.assertLessEqual(below, above + 1, page)

    def walk(self, page):
        """(What the tab key leads to, how many things there are then that can be used.)"""
        focused = []
        while len(focused) < 200:
            self.keys(TAB)
            at = self.browser.run(FOCUS)
            if at is None or not at["goesOn"]:
                break
            focused.append(at)
            self.assertTrue(at["outlined"], f"{page}: focus is not seen on {at['what']}")
        self.assertTrue(focused[0]["what"].endswith("To the content"), focused[0])
        return [at["what"] for at in focused], self.browser.run(
            "return [...document.querySelectorAll('a, button, input, select, summary, [tabindex]')]"
            ".filter((one) => one.checkVisibility() && !one.disabled).length"
        )

    def expect_focus_in_order(self, page, shown):
        for _ in range(3):  # what comes during a walk may come behind it
            focused, wanted = self.walk(page)
            if len(focused) >= wanted:
                return
            self.open(page, shown)
        self.fail(f"{page}: {len(focused)} of {wanted}: {focused}")

    def open(self, page, shown):
        self.browser.open(self.address + page)
        self.browser.wait(f"return document.querySelector({shown!r}) !== null")

    def test_all_that_can_be_used_has_a_name_and_the_tab_key_leads_through_it_in_order(self):
        for page, shown in self.pages().items():
            self.open(page, shown)
            self.expect_names(page, self.nodes())
            self.expect_headings(page)
            self.expect_focus_in_order(page, shown)
        self.expect_no_faults()

    def test_jobs_are_chosen_and_compared_by_keys_alone_while_others_come(self):
        jobs = [self.finished(tiny_job(name=name)) for name in ("one", "two")]
        self.browser.open(self.address)
        first = "return document.querySelector('#jobs tr')?.innerText.includes(arguments[0])"
        self.browser.wait(first, jobs[1])
        self.browser.run("document.querySelector('#jobs input').focus()")
        self.browser.wait(first, self.finished(tiny_job(name="comes")))
        self.keys(SPACE)
        label = self.browser.run("return document.activeElement.getAttribute('aria-label')")
        self.assertEqual(label, f"compare {jobs[1]}", "the focus stays where it was")
        self.browser.run("document.querySelector('#compare').focus()")
        self.keys(ENTER)
        self.browser.wait("return location.pathname === '/compare'")
        self.assertEqual(self.browser.run("return location.search"), f"?job={jobs[1]}")
        self.browser.wait("return document.querySelectorAll('#rows tr').length > 5")
        self.browser.run("document.querySelector('#from').focus()")
        self.keys("4", TAB)
        self.browser.wait("return location.search.includes('from=4')")
        count = "return document.querySelector('#curves tbody td:nth-child(2)')?.textContent"
        self.browser.wait(count + " === '3'")
        self.expect_no_faults()


if __name__ == "__main__":
    unittest.main()
