// Begins a session by a token, or by the code of a link. That stands behind the link's '#', which
// no browser sends. Neither is ever in an address that is asked for.

const at = (id) => document.getElementById(id);

function tell(problem) {
  at("problem").hidden = false;
  at("problem").textContent = problem;
}

// Where this stands in the place of another page, that one is next.
function goOn() {
  location.replace(location.pathname === "/sign-in" ? "/" : location.pathname + location.search);
}

async function signIn(scheme, secret) {
  if (!/^[!-~]+$/.test(secret)) return tell("that is no token");
  const headers = { Authorization: `${scheme} ${secret}` };
  const response = await fetch("/api/sign-in", { method: "POST", headers }).catch(() => null);
  if (response?.ok) return goOn();
  return tell(response ? (await response.json()).error : "the coordinator does not answer");
}

function signInByLink() {
  const code = location.hash.slice(1);
  if (!code) return;
  history.replaceState(null, "", location.pathname + location.search);
  signIn("Code", code);
}

at("by-token").addEventListener("submit", (event) => {
  event.preventDefault();
  signIn("Bearer", at("token").value.trim());
});
addEventListener("hashchange", signInByLink);
signInByLink();
