// The page of those who have signed in: it makes a token, and calls the API with it.
import { post } from "./post.js";

const $ = (id) => document.getElementById(id);

$("create").onclick = async () => {
  const { ok, status, reply } = await post("/tokens", {});
  if (status === 401) return location.assign("/login");
  if (!ok) return $("problem").textContent = reply.detail;
  const { access_token } = reply;
  $("token").textContent = access_token;
  const account = await fetch("/api/account", { headers: { authorization: `Bearer ${access_token}` } });
  const { name, email, detail } = await account.json();
  $("account").textContent = detail ?? `${name}, ${email}`;
};

$("logout").onclick = async () => {
  await post("/logout", {});
  location.assign("/login");
};

// A click before this would be lost.
for (const id of ["create", "logout"]) $(id).disabled = false;
