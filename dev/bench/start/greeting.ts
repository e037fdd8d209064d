// The reply of every measured server to `GET /greeting`.

/** The text of the reply. */
export const GREETING = "Hello, World!";
