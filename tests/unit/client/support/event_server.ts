// A server of events whose connections a test plays.

/** An open connection. */
export class EventConnection {
  readonly response: Response;
  /** Settles when the client has gone. */
  readonly cancelled: Promise<void>;
  /** How often the client has asked for more. */
  pulls = 0;
  #controller!: ReadableStreamDefaultController<Uint8Array>;

  constructor(text = "", init: ResponseInit = { headers: { "content-type": "text/event-stream" } }) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.cancelled = promise;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => void (this.#controller = controller),
      pull: () => void this.pulls++,
      cancel: () => resolve(),
    }, { highWaterMark: 0 });
    this.response = new Response(body, init);
    if (text !== "") this.send(text);
  }

  /** Sends text. */
  send(text: string): void {
    this.#controller.enqueue(new TextEncoder().encode(text));
  }

  /** Ends the reply. */
  end(): void {
    this.#controller.close();
  }

  /** Breaks the connection. */
  break(): void {
    this.#controller.error(new TypeError("The connection was reset"));
  }
}

/** What a connection is answered with. */
export type Answer = EventConnection | Response | Error | Promise<Response>;

/** Answers requests one after another. */
export class EventServer {
  readonly requests: Request[] = [];
  readonly #answers: Answer[];

  constructor(...answers: Answer[]) {
    this.#answers = answers;
  }

  /** The ids that the client has come with. */
  get ids(): (string | null)[] {
    return this.requests.map(({ headers }) => headers.get("last-event-id"));
  }

  /** Adds an answer. */
  add(answer: Answer): void {
    this.#answers.push(answer);
  }

  readonly fetch = async (request: Request): Promise<Response> => {
    this.requests.push(request);
    const answer = this.#answers.shift();
    if (answer === undefined) throw new Error("No answer is left");
    if (answer instanceof Error) throw answer;
    return answer instanceof EventConnection ? answer.response : await answer;
  };
}
