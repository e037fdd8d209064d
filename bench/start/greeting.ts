// What every measured server replies to `GET /greeting`.

/** The text of the reply. */
export const GREETING = "Hello, World!";
