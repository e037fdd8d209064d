/**
 * Rooms: messages of one room over a WebSocket, the activity of all rooms as server-sent events.
 */
import { Events, type HttpRequest, Router, SSE, type Topic } from "@webfw/core";
import * as v from "valibot";
import { Activity, Message, MessageId, Missed, Name, Post, RoomName, Said } from "./models.ts";

/** How many messages a room keeps. */
const HISTORY = 100;

/** The routes of rooms. */
export const rooms = new Router();

/** A room, as one who is in it sees it. */
export const enterRoom = rooms.websocket("/rooms/{room}/socket", {
  params: { room: RoomName },
  query: { name: Name, after: v.optional(MessageId) },
  receive: Said,
  send: v.union([Message, Missed]),
}, async function enter(socket, { room, name, after }) {
  const { request, signal } = socket;
  const start = after === undefined ? { from: "earliest" } as const : { after };
  const subscription = postsOf(request, room).subscribe({ ...start, signal });
  const show = async () => {
    for await (const entry of subscription) {
      if ("gap" in entry) await socket.send({ missed: true });
      else await socket.send({ id: entry.id, time: entry.time.toISOString(), ...entry.data });
    }
  };
  const listen = async () => {
    for await (const { text } of socket) await post(request, room, { name, text });
  };
  await Promise.all([show(), listen()]);
});

/** What goes on in all rooms. */
export const streamActivity = rooms.get("/activity", {
  response: Events(Activity),
}, async function streamActivity(request) {
  "Tell who says something in which room, as server-sent events.";
  return SSE(activityOf(request).subscribe());
});

/**
 * Posts in a room.
 *
 * @param request The request of the user.
 */
export async function post(request: HttpRequest, room: string, what: v.InferOutput<typeof Post>): Promise<void> {
  await postsOf(request, room).publish(what);
  await activityOf(request).publish({ room, name: what.name });
}

function postsOf({ app }: HttpRequest, room: string): Topic<v.InferOutput<typeof Post>> {
  return app.topic(`posts in ${room}`, { schema: Post, retention: { count: HISTORY } });
}

function activityOf({ app }: HttpRequest): Topic<v.InferOutput<typeof Activity>> {
  return app.topic("activity", { schema: Activity });
}
