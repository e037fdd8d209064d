// The page to sign in or to register.
import { post } from "./post.js";

for (const name of ["login", "register"]) {
  const form = document.getElementById(name);
  form.onsubmit = async (event) => {
    event.preventDefault();
    const response = await post(`/${name}`, Object.fromEntries(new FormData(form)));
    const { detail, errors = [] } = await response.json();
    if (response.ok) return location.assign(nextPage());
    const faults = errors.map(({ path, message }) => `${path.at(-1)}: ${message}`);
    document.getElementById("problem").textContent = faults.join(", ") || detail;
  };
}

/** The page that was asked for before signing in, of this origin only. */
function nextPage() {
  const next = new URL(new URLSearchParams(location.search).get("next") ?? "/", location.origin);
  return next.origin === location.origin ? next : "/";
}
