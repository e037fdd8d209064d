/** Puts the service together. */
import { App } from "@webfw/core";
import { requestId, secureHeaders } from "@webfw/core/middleware";
import { api } from "./api.ts";
import { page } from "./page.ts";
import { signIn } from "./sign_in.ts";
import { type SigningKeys, tokenGuard, tokens } from "./tokens.ts";
import { type State, state, Users } from "./users.ts";

/** The options of {@linkcode accounts}. */
export interface AccountsOptions {
  /** The path of the database. It is created if it does not exist. */
  file: string;
  /** The name in the tokens of who issued them: the address of this service. */
  issuer: string;
  /** The keys of the tokens. */
  keys: SigningKeys;
}

/** Makes the application. */
export function accounts({ file, issuer, keys }: AccountsOptions): App<State> {
  const app = new App({ title: "Accounts", version: "1.0.0", state });
  app.lifespan(async function* () {
    using users = new Users(file);
    yield { users };
  });
  app.middleware(requestId());
  app.middleware(secureHeaders({ contentSecurityPolicy: { "default-src": ["'self'"], "img-src": ["data:"] } }));
  app.include(page);
  app.include(signIn);
  app.include(tokens(issuer, keys));
  app.include(api(tokenGuard(issuer, keys)));
  return app;
}
