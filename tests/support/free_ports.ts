/** Ports for programs that are told which one to listen at. */

/** Systems take the ports of outgoing connections from here on, at any moment. */
const FIRST_OUTGOING = 32_768;
/** Services of the system are below. */
const FIRST = 10_000;

/**
 * Ports that nobody listens at now. Each is bound again soon, by a program that cannot tell which
 * one it was given.
 */
export function freePorts(count: number): number[] {
  const listeners = Array.from({ length: count }, listen);
  const ports = listeners.map(({ addr }) => addr.port);
  for (const listener of listeners) listener.close();
  return ports;
}

function listen(): Deno.TcpListener {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (FIRST_OUTGOING - FIRST));
    try {
      return Deno.listen({ hostname: "127.0.0.1", port });
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
}
