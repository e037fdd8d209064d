// The page to sign in or to register.
import { post } from "./post.js";

for (const name of ["login", "register"]) {
  const form = document.getElementById(name);
  form.onsubmit = async (event) => {
    event.preventDefault();
    const { ok, reply } = await post(`/${name}`, Object.fromEntries(new FormData(form)));
    if (ok) return location.assign(nextPage());
    const { detail, errors = [] } = reply;
    const faults = errors.map(({ path, message }) => `${path.at(-1)}: ${message}`);
    document.getElementById("problem").textContent = faults.join(", ") || detail;
  };
  // Before this, the browser would send the form by itself, with the password in the URL.
  form.querySelector("button").disabled = false;
}

/** The page that was asked for before signing in, of this origin only. */
function nextPage() {
  const next = new URL(new URLSearchParams(location.search).get("next") ?? "/", location.origin);
  return next.origin === location.origin ? next : "/";
}
