/** Pictures: uploaded by a form, kept in a folder, and served from there. */
import { file, Form, Router, UploadFile } from "@webfw/core";
import { join } from "node:path";
import * as v from "valibot";
import { Name, RoomName } from "./models.ts";
import { post } from "./rooms.ts";

/** The types that are taken, and how the names of their files end. */
const ENDINGS: Readonly<Record<string, string>> = { "image/png": "png", "image/jpeg": "jpg", "image/gif": "gif" };

const Picture = v.pipe(UploadFile, v.mimeType(["image/png", "image/jpeg", "image/gif"]), v.maxSize(5 * 1024 * 1024));

/**
 * The routes of pictures.
 *
 * @param folder Where they are kept.
 */
export function pictures(folder: string): Router {
  const router = new Router();

  router.post("/rooms/{room}/pictures", {
    params: { room: RoomName },
    form: Form(v.object({ name: Name, picture: Picture })),
    response: v.object({ picture: v.string() }),
    status: 201,
  }, async function addPicture(request, { room, form }) {
    "Show a picture in a room.";
    // A name of our own: that of the client's file may be anything.
    const name = `${crypto.randomUUID()}.${ENDINGS[form.picture.type]}`;
    await form.picture.save(join(folder, name));
    const picture = `/pictures/${name}`;
    await post(request, room, { name: form.name, picture });
    return { picture };
  });

  router.get("/pictures/{name}", async function getPicture(_request, { name }) {
    "Send a picture.";
    return await file(name, { root: folder });
  });

  return router;
}
