// The page: a WebSocket for the room one is in, server-sent events for what goes on in all of them, and a form for
// pictures. Paths, arguments and messages have the types of the server's routes.

import { client, ProblemError } from "@webfw/core/client";
import type * as v from "valibot";
import type * as api from "../chat.ts";
import type { Message, Missed } from "../models.ts";

const server = client<typeof api>("");
const state = byId("state");
const messages = byId("messages");
const activity = byId("activity");

/** A room, from entering it to entering another one. */
class Room {
  readonly #room: string;
  readonly #name: string;
  readonly #left = new AbortController();
  #socket: Awaited<ReturnType<Room["connect"]>> | undefined;
  /** The id of the newest message that is shown: a lost connection goes on after it. */
  #last: string | undefined;

  constructor(room: string, name: string) {
    this.#room = room;
    this.#name = name;
  }

  /** Opens a connection. */
  connect() {
    const place = { room: this.#room, name: this.#name, after: this.#last };
    return server.websocket("/rooms/{room}/socket", place, { signal: this.#left.signal });
  }

  /** Shows messages until the room is left. */
  async stay(): Promise<void> {
    while (!this.#left.signal.aborted) {
      try {
        this.#socket = await this.connect();
        state.textContent = `In ${this.#room} as ${this.#name}`;
        for await (const message of this.#socket) {
          if ("id" in message) this.#last = message.id;
          show(message);
        }
      } catch (error) {
        if (error instanceof ProblemError && error.status < 500) return explain(error);
      }
      this.#socket = undefined;
      if (this.#left.signal.aborted) return;
      state.textContent = "Connection lost, trying again";
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  }

  /** Says something. Returns whether there is a connection to send it. */
  async say(text: string): Promise<boolean> {
    await this.#socket?.send({ text });
    return this.#socket !== undefined;
  }

  /** Shows a picture to all. */
  async sendPicture(picture: File): Promise<void> {
    await server.post("/rooms/{room}/pictures", { room: this.#room, form: { name: this.#name, picture } });
  }

  leave(): void {
    this.#left.abort();
  }
}

let here: Room | undefined;

/** Shows a message. */
function show(message: v.InferOutput<typeof Message | typeof Missed>): void {
  const item = document.createElement("li");
  if ("missed" in message) {
    item.textContent = "Older messages are no longer there";
  } else {
    const author = document.createElement("b");
    author.textContent = message.name;
    item.append(author, " ", message.picture ? pictureBy(message.name, message.picture) : message.text ?? "");
  }
  messages.append(item);
  item.scrollIntoView({ block: "nearest" });
}

function pictureBy(name: string, address: string): HTMLImageElement {
  const image = document.createElement("img");
  image.src = address;
  image.alt = `Picture by ${name}`;
  return image;
}

/** Says why the server has refused something. */
function explain({ issues, problem }: ProblemError): void {
  state.textContent = issues[0]?.message ?? problem.detail;
}

/** Calls a function with the fields of a form when it is submitted. Whether it clears the form then. */
function onSubmit(id: string, submit: (fields: FormData) => Promise<boolean>): void {
  const form = byId(id) as HTMLFormElement;
  form.onsubmit = async (event) => {
    event.preventDefault();
    try {
      if (await submit(new FormData(form))) form.reset();
    } catch (error) {
      if (error instanceof ProblemError) explain(error);
      else state.textContent = "Not sent, try again";
    }
  };
  // Before this, the browser would send the form by itself, and load the page again.
  form.querySelector("button")!.disabled = false;
}

function byId(id: string): HTMLElement {
  return document.getElementById(id)!;
}

onSubmit("entrance", async (fields) => {
  here?.leave();
  messages.replaceChildren();
  here = new Room(`${fields.get("room")}`, `${fields.get("name")}`);
  here.stay();
  return false;
});

onSubmit("writing", async (fields) => {
  const isSent = await here?.say(`${fields.get("text")}`) ?? false;
  if (!isSent) state.textContent = "Enter a room first";
  return isSent;
});

onSubmit("picture", async (fields) => {
  if (here) await here.sendPicture(fields.get("picture") as File);
  else state.textContent = "Enter a room first";
  return here !== undefined;
});

for await (const event of server.events("/activity")) {
  if (event.gap) continue;
  const item = document.createElement("li");
  item.textContent = `${event.data.name} in ${event.data.room}`;
  activity.prepend(item);
  while (activity.children.length > 20) activity.lastChild?.remove();
}
