/** The models of the chat. */
import * as v from "valibot";

/** The name of a room: a part of paths. */
export const RoomName = v.pipe(v.string(), v.regex(/^[a-z0-9-]{1,40}$/, "Only a-z, 0-9 and -, at most 40 of them"));

/** The name of a user. */
export const Name = v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(40));

/** The id of a message, as topics make them. */
export const MessageId = v.pipe(v.string(), v.regex(/^[0-9a-f]{8}-[0-9a-f]{22}$/, "No id of a message"));

/** A text that a user sends. */
export const Said = v.object({ text: v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(2_000)) });

/** An entry of a room: a string or the path of a picture, and the user's name. */
export const Post = v.object({ name: Name, text: v.optional(v.string()), picture: v.optional(v.string()) });

/** A post as the room shows it: with the id to go on after when the connection is lost. */
export const Message = v.object({ id: MessageId, time: v.string(), ...Post.entries });

/** In the place of messages that are no longer kept. */
export const Missed = v.object({ missed: v.literal(true) });

/** An activity: a user has posted in a room. */
export const Activity = v.object({ room: RoomName, name: Name });
