// Anyone can read notes and subscribe to new ones. Writing a note needs a token.

import { App, Events, settings, SSE } from "@webfw/core";
import { bearer, equal } from "@webfw/core/auth";
import * as v from "valibot";

const NewNote = v.object({
  text: v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(500)),
});
const Note = v.object({ id: v.number(), ...NewNote.entries });

const Settings = v.object({
  TOKEN: v.pipe(
    v.string(),
    v.minLength(16),
    v.description("The bearer token that allows writing"),
  ),
});
const { TOKEN } = settings(Settings);

/** Accepts clients that send the token. */
const writer = bearer(async (token) => {
  return equal(token, TOKEN) && { name: "writer" };
});

export const app = new App({ title: "Notes", readyUrl: "/ready" });

// In memory, until you connect a database.
const notes: v.InferOutput<typeof Note>[] = [];
const added = app.topic("added", { schema: Note });

app.get("/notes", {
  response: v.array(Note),
  tool: true,
}, async function listNotes() {
  "List all notes.";
  return notes;
});

app.post("/notes", {
  deps: { writer },
  body: NewNote,
  response: Note,
  status: 201,
  tool: true,
}, async function addNote(_request, { body }) {
  "Write a note.";
  const note = { id: notes.length + 1, ...body };
  notes.push(note);
  await added.publish(note);
  return note;
});

app.get("/notes/events", {
  response: Events(Note),
}, async function followNotes() {
  "Stream new notes.";
  return SSE(added.subscribe());
});

export default app;
