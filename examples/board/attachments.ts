/** Files of a card, in a folder that the nodes share. */
import { file, Form, HTTPError, Router, UploadFile } from "@webfw/core";
import { join } from "node:path";
import * as v from "valibot";
import { board } from "./cards.ts";
import { Attachment, Id } from "./models.ts";
import { state } from "./state.ts";

export const attachments = new Router({ prefix: "/boards/{boardId}", state, deps: { board }, tags: ["Attachments"] });

export const addAttachment = attachments.post("/cards/{cardId}/attachments", {
  params: { cardId: Id },
  form: Form(v.object({ file: v.pipe(UploadFile, v.maxSize(20 * 1024 * 1024)) })),
  response: Attachment,
  status: 201,
}, async function addAttachment({ state: { database, attachments } }, { board, cardId, form }) {
  "Attach a file to a card.";
  if (!database.get("SELECT id FROM cards WHERE id = ? AND board = ?", cardId, board.id)) {
    throw new HTTPError(404, "No such card");
  }
  const id = crypto.randomUUID();
  // The file comes first: a row without a file would be an error, a file without a row is only waste.
  await form.file.save(join(attachments, id));
  const sql = "INSERT INTO attachments (id, card, name, type, size) VALUES (?, ?, ?, ?, ?) RETURNING *";
  return database.get<Attachment>(sql, id, cardId, form.file.name, form.file.type, form.file.size)!;
});

attachments.get("/attachments/{id}", async function getAttachment(request, { board, id }) {
  "Download a file, or a range of it.";
  const sql =
    "SELECT attachments.* FROM attachments JOIN cards ON cards.id = card WHERE attachments.id = ? AND board = ?";
  const row = request.state.database.get<Attachment>(sql, id, board.id);
  if (!row) throw new HTTPError(404, "No such attachment");
  // The type is that of the uploader: with a file name, browsers save the file and do not show it.
  return await file(row.id, { root: request.state.attachments, type: row.type, filename: row.name });
});
