// A request with a JSON body.

/** Sends the body, and reads the reply: a page that leaves earlier would cancel it. */
export async function post(path, body) {
  const headers = { "content-type": "application/json" };
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  return { ok: response.ok, status: response.status, reply: text === "" ? undefined : JSON.parse(text) };
}
