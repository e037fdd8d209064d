/**
 * Notes, for a person who signs in on a page, and for an agent that sends a token:
 * `NOTES_PASSWORD=… NOTES_TOKEN=… deno serve -A main.ts`. The page is at /, the tools at /mcp.
 */
import { anySecurity, App, Form, html, HTTPError, redirect, Router, text } from "@webfw/core";
import { bearer, equal, recordSessions, session } from "@webfw/core/auth";
import { secureHeaders } from "@webfw/core/middleware";
import * as v from "valibot";
import { LOGIN, PAGE, SCRIPT } from "./pages.ts";

const Note = v.object({ text: v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(200)) });
const Login = v.object({ password: v.string() });
const Visit = v.object({ since: v.number() });

const password = Deno.env.get("NOTES_PASSWORD");
const token = Deno.env.get("NOTES_TOKEN");
if (!password || !token) throw new Error("Cannot start: set NOTES_PASSWORD and NOTES_TOKEN");

const visit = session(Visit, { store: recordSessions(), subject: () => "owner" });
const agent = bearer(async (given) => equal(given, token) && { name: "agent" });
const written: v.InferOutput<typeof Note>[] = [];

const pages = new Router({ hidden: true, rateLimit: { limit: 30, per: "1m" } });
pages.get("/", { deps: { visit: visit.required({ redirect: "/login" }) } }, async () => html(PAGE));
pages.get("/login", async () => html(LOGIN));
pages.get("/page.js", async () => text(SCRIPT, { headers: { "content-type": "text/javascript;charset=UTF-8" } }));
pages.post("/login", { form: Form(Login), deps: { visit } }, async (_request, { form, visit }) => {
  if (!equal(form.password, password)) throw new HTTPError(403, "The password is wrong");
  await visit.set({ since: Date.now() });
  return redirect("/");
});

const notes = new Router({ prefix: "/notes", deps: { caller: anySecurity(agent, visit.required()) } });
notes.get("", { response: v.array(Note), tool: true }, async function listNotes() {
  "List all notes.";
  return written;
});
notes.post("", { body: Note, response: Note, status: 201, tool: true }, async function addNote(_request, { body }) {
  "Write a note.";
  written.push(body);
  return body;
});

export const app = new App({ title: "Notes" });
app.middleware(secureHeaders({ contentSecurityPolicy: { "default-src": ["'self'"], "img-src": ["data:"] } }));
app.include(pages);
app.include(notes);
export default app;
