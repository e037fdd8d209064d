/** The two pages. */

export const LOGIN = `<!DOCTYPE html>
<html lang="en">
  <meta charset="utf-8">
  <title>Sign in</title>
  <link rel="icon" href="data:,">
  <form method="post">
    <label>Password <input type="password" name="password" required autocomplete="current-password"></label>
    <button>Sign in</button>
  </form>
</html>`;

export const PAGE = `<!DOCTYPE html>
<html lang="en">
  <meta charset="utf-8">
  <title>Notes</title>
  <link rel="icon" href="data:,">
  <ul id="notes"></ul>
  <form id="new">
    <label>Note <input name="text" required maxlength="200"></label>
    <button>Add</button>
  </form>
  <script type="module" src="/page.js"></script>
</html>`;

/** The script of the page, in a file of its own: the policy of the pages lets no other one run. */
export const SCRIPT = `const form = document.getElementById("new");
async function show() {
  const items = (await (await fetch("/notes")).json()).map(({ text }) => {
    const item = document.createElement("li");
    item.textContent = text;
    return item;
  });
  document.getElementById("notes").replaceChildren(...items);
}
form.onsubmit = async (event) => {
  event.preventDefault();
  const body = JSON.stringify(Object.fromEntries(new FormData(form)));
  await fetch("/notes", { method: "POST", headers: { "content-type": "application/json" }, body });
  form.reset();
  await show();
};
await show();
`;
