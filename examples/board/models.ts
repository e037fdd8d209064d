/** The models of requests, replies and messages. */
import * as v from "valibot";

export const Id = v.pipe(v.number(), v.integer(), v.minValue(1));
const Name = v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(100));
export const Named = v.object({ name: Name });
export const Email = v.pipe(v.string(), v.trim(), v.toLowerCase(), v.email(), v.maxLength(254));

const Password = v.pipe(v.string(), v.minLength(12), v.maxLength(200));
export const Registration = v.object({ email: Email, name: Name, password: Password });
export const Login = v.object({ email: Email, password: v.pipe(v.string(), v.maxLength(200)) });

/** A user in a reply. The row in the database also has the hash of the password. */
export const User = v.pipe(v.object({ id: Id, email: v.string(), name: v.string() }), v.title("User"));
export type User = v.InferOutput<typeof User>;

export const Team = v.pipe(v.object({ id: Id, name: v.string() }), v.title("Team"));
export type Team = v.InferOutput<typeof Team>;

export const Board = v.pipe(v.object({ id: Id, team: Id, name: v.string() }), v.title("Board"));
export type Board = v.InferOutput<typeof Board>;

const text = v.pipe(v.string(), v.maxLength(10_000));
const column = v.picklist(["to do", "doing", "done"]);
const assignee = v.pipe(v.nullable(Id), v.description("The id of a member of the team."));
export const NewCard = v.object({ title: Name, text: v.optional(text, "") });
export const CardChange = v.object({
  title: v.exactOptional(Name),
  text: v.exactOptional(text),
  column: v.exactOptional(column),
  assignee: v.exactOptional(assignee),
});
/** A card, in replies and in messages. Its version increases with each change. */
export const Card = v.pipe(
  v.object({ id: Id, board: Id, title: Name, text, column, assignee, version: v.number() }),
  v.title("Card"),
);
export type Card = v.InferOutput<typeof Card>;

export const Attachment = v.pipe(
  v.object({ id: v.string(), card: Id, name: v.string(), type: v.string(), size: v.number() }),
  v.title("Attachment"),
);
export type Attachment = v.InferOutput<typeof Attachment>;

export const Mail = v.object({ to: v.string(), subject: v.string(), text: v.string() });
export type Mail = v.InferOutput<typeof Mail>;
