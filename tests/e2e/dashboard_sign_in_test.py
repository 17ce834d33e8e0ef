"""The dashboard over TLS: a real coordinator, tokens, the link of trainctl ui, and Chromium."""

import http.client
import ssl
import unittest

import browser
from tls_site import TlsSite


class SignInSite(TlsSite):
    OPTIONS = ("--dashboard-tls", "127.0.0.1:0")

    def link(self, context):
        link = self.trainctl("--context", context, "ui").stdout.strip()
        self.assertRegex(link, r"^https://127\.0\.0\.1:\d+/sign-in#[0-9a-f]{64}$")
        return link

    def ask(self, method, path, **headers):
        """Status and text, of a program that verifies the certificate."""
        trusted = ssl.create_default_context(cafile=self.keys / "ca.pem")
        place = self.link("admin").split("/")[2]
        connection = http.client.HTTPSConnection(place, context=trusted, timeout=60)
        self.addCleanup(connection.close)
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


class DashboardOverTls(SignInSite):
    def test_programs_bring_a_token_and_hostile_names_and_pages_are_refused(self):
        token = self.token_of("prometheus", "viewer").read_text().strip()
        bearer = {"Authorization": f"Bearer {token}"}
        self.assertEqual(self.ask("GET", "/api/site")[0], 401)
        self.assertEqual(self.ask("GET", "/metrics", Authorization="Bearer wrong")[0], 401)
        status, text = self.ask("GET", "/metrics", **bearer)
        self.assertEqual(status, 200)
        self.assertIn("trainctl_", text)
        self.assertEqual(self.ask("GET", "/metrics", Host="evil.example", **bearer)[0], 403)
        self.assertEqual(
            self.ask("GET", "/metrics", Origin="https://evil.example", **bearer)[0], 403
        )
        self.assertEqual(
            self.ask("POST", "/api/sign-in", Origin="https://evil.example", **bearer)[0], 403
        )
        self.assertNotIn("prometheus", [one["actor"] for one in self.audit()])
        self.expect_nothing_told()


@unittest.skipIf(browser.why_not(), browser.why_not())
class DashboardSignIn(SignInSite):
    def setUp(self):
        super().setUp()
        self.browser = browser.Browser(certificate=self.keys / "coordinator.pem")
        self.addCleanup(self.browser.close)

    def expect_site_of(self, user):
        self.browser.wait(
            "return document.querySelector('#facts')?.innerText.includes(arguments[0])", user
        )

    def expect_sign_in(self, problem=""):
        self.browser.wait("return document.querySelector('#by-token') !== null")
        self.browser.wait(
            "return document.querySelector('#problem').textContent.includes(arguments[0])", problem
        )

    def paste(self, token):
        self.browser.run("document.querySelector('#token').value = arguments[0]", token)
        self.browser.run("document.querySelector('#by-token button').click()")

    def test_a_link_signs_in_once_until_the_token_is_revoked(self):
        self.token_of("anna", "viewer")
        link = self.link("anna")
        self.browser.open(link)
        self.expect_site_of("anna")
        self.assertEqual(self.browser.run("return location.pathname + location.hash"), "/")
        self.assertEqual(self.browser.run("return document.cookie"), "", "no script has it")
        self.assertEqual(self.browser.faults(), [])

        self.trainctl("admin", "token", "revoke", "2")
        self.browser.wait(
            "return document.querySelector('#problem').textContent.includes('was revoked')"
        )
        self.browser.open(link.split("#")[0].replace("sign-in", "queue"))
        self.expect_sign_in()

        self.token_of("bob", "user")
        used = self.link("bob")
        self.browser.open(used)
        self.expect_site_of("bob")
        self.browser.run("document.querySelector('#sign-out').click()")
        self.expect_sign_in()
        self.browser.open(used)
        self.expect_sign_in("was used already")
        told = [(e["actor"], e["verdict"][:8]) for e in self.audit() if e["action"] == "sign-in"]
        self.assertEqual(told, [("unknown", "denied: "), ("bob", "accepted"), ("anna", "accepted")])
        self.expect_nothing_told(link.split("#")[1], used.split("#")[1])

    def test_a_token_that_is_pasted_opens_the_page_that_was_asked_for(self):
        page = self.link("admin").split("sign-in")[0] + "queue"
        self.browser.open(page)
        self.expect_sign_in()
        self.paste("trainctl_wrong")
        self.expect_sign_in("not known here")
        self.trainctl("admin", "worker-token", "gpu-2", "--to", self.dir / "join.token")
        self.paste((self.dir / "join.token").read_text())
        self.expect_sign_in("no role on this site")
        self.paste(self.token_of("anna", "user").read_text())
        self.browser.wait("return document.querySelector('#queue') !== null")
        self.assertEqual(self.browser.run("return location.pathname"), "/queue")
        self.expect_nothing_told()


if __name__ == "__main__":
    unittest.main()
