/** The models of requests and replies. */
import * as v from "valibot";

const Email = v.pipe(v.string(), v.trim(), v.toLowerCase(), v.email(), v.maxLength(254));
const Password = v.pipe(v.string(), v.minLength(12), v.maxLength(200));
const Name = v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(100));

export const Registration = v.pipe(v.object({ email: Email, name: Name, password: Password }), v.title("Registration"));
export type Registration = v.InferOutput<typeof Registration>;

export const Login = v.pipe(
  v.object({ email: Email, password: v.pipe(v.string(), v.maxLength(200)) }),
  v.title("Login"),
);
export type Login = v.InferOutput<typeof Login>;

/** The row in the database also has the hash of the password. Replies are reduced to this. */
export const Account = v.pipe(v.object({ id: v.number(), email: v.string(), name: v.string() }), v.title("Account"));
export type Account = v.InferOutput<typeof Account>;

/** The reply of an OAuth 2.0 token endpoint (RFC 6749, section 5.1). */
export const AccessToken = v.pipe(
  v.object({ access_token: v.string(), token_type: v.literal("Bearer"), expires_in: v.number() }),
  v.title("AccessToken"),
);
