/** Pictures: uploaded by a form, kept in a folder, and served from there. */
import { file, Form, Router, UploadFile } from "@webfw/core";
import { join } from "node:path";
import * as v from "valibot";
import { Name, RoomName } from "./models.ts";
import { post } from "./rooms.ts";
import { state } from "./state.ts";

/** The types that are taken, and how the names of their files end. */
const ENDINGS: Readonly<Record<string, string>> = { "image/png": "png", "image/jpeg": "jpg", "image/gif": "gif" };

const Picture = v.pipe(UploadFile, v.mimeType(["image/png", "image/jpeg", "image/gif"]), v.maxSize(5 * 1024 * 1024));

/** The routes of pictures. */
export const pictures = new Router({ state });

/** Uploads a picture. */
export const addPicture = pictures.post("/rooms/{room}/pictures", {
  params: { room: RoomName },
  form: Form(v.object({ name: Name, picture: Picture })),
  response: v.object({ picture: v.string() }),
  status: 201,
}, async function addPicture(request, { room, form }) {
  "Show a picture in a room.";
  // A name of our own: that of the client's file may be anything.
  const name = `${crypto.randomUUID()}.${ENDINGS[form.picture.type]}`;
  await form.picture.save(join(request.state.folder, name));
  const picture = `/pictures/${name}`;
  await post(request, room, { name: form.name, picture });
  return { picture };
});

pictures.get("/pictures/{name}", async function getPicture(request, { name }) {
  "Send a picture.";
  return await file(name, { root: request.state.folder });
});
