// The board: its navigation, and the page that the address names.

import { type ComponentChildren, type JSX, render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api, isOnline } from "./api.ts";
import { useWork } from "./live.ts";
import { closeNotice, Empty, Notice, QuestionDialog } from "./parts.tsx";
import { info } from "./info.ts";
import { ConsumerPage, ConsumersPage } from "./pages/consumers.tsx";
import { CronsPage } from "./pages/crons.tsx";
import { HealthPage } from "./pages/health.tsx";
import { RequestPage } from "./pages/request.tsx";
import { RequestsPage } from "./pages/requests.tsx";
import { RoutesPage } from "./pages/routes.tsx";
import { TopicPage, TopicsPage } from "./pages/topics.tsx";
import { useStore } from "./store.ts";

const PAGES = [
  ["requests", "Requests"],
  ["routes", "Routes"],
  ["topics", "Topics"],
  ["consumers", "Consumers"],
  ["crons", "Crons"],
  ["health", "Health"],
] as const;

/** The parts of the address after `#/`, decoded. */
function readPlace(): readonly string[] {
  const parts = location.hash.replace(/^#\/?/, "").split("/").map(decode);
  return parts[0] === "" ? ["requests"] : parts;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function Board(): JSX.Element {
  const [place, setPlace] = useState(readPlace);
  const shown = useStore(info);
  const online = useStore(isOnline);
  useEffect(() => {
    const follow = () => {
      closeNotice();
      setPlace(readPlace());
      scrollTo(0, 0);
    };
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  const [section = ""] = place;
  const name = PAGES.find(([path]) => path === section)?.[1] ?? "Board";
  useEffect(() => {
    document.title = `${name} – ${shown?.title ?? "Board"}`;
    document.querySelector<HTMLElement>("main h1")?.focus();
  }, [place, shown]);
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>Skip to the content</a>
      <header class="top">
        <strong>{shown?.title ?? "Board"}</strong>
        {shown && <span class="version">{shown.version}</span>}
        {shown?.readOnly && <span class="badge">read-only</span>}
        <span class={online ? "online" : "offline"} role="status">{online ? "Live" : "Reconnecting…"}</span>
      </header>
      <nav aria-label="Pages">
        <ul>
          {PAGES.map(([path, title]) => (
            <li key={path}>
              <a href={`#/${path}`} aria-current={path === section ? "page" : undefined}>
                {title}
                {path === "consumers" && <FailureCount />}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <main id="main">{pageOf(place)}</main>
      <QuestionDialog />
      <Notice />
    </>
  );
}

function skip(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("main h1")?.focus();
}

/** How many messages consumers have given up: the reason to look there. */
function FailureCount(): JSX.Element | null {
  const work = useWork();
  const failures = work?.consumers.reduce((sum, consumer) => sum + consumer.failures, 0) ?? 0;
  return failures === 0 ? null : (
    <span class="count">
      {failures}
      <span class="hidden">failures</span>
    </span>
  );
}

function pageOf([section, first, second]: readonly string[]): ComponentChildren {
  switch (section) {
    case "requests":
      return first === undefined ? <RequestsPage /> : <RequestPage key={first} number={Number(first)} />;
    case "routes":
      return <RoutesPage />;
    case "topics":
      return first === undefined ? <TopicsPage /> : <TopicPage key={`${first}/${second}`} name={first} id={second} />;
    case "consumers":
      return first === undefined || second === undefined
        ? <ConsumersPage />
        : <ConsumerPage key={`${first}/${second}`} topic={first} name={second} />;
    case "crons":
      return <CronsPage />;
    case "health":
      return <HealthPage />;
    default:
      return (
        <>
          <h1 tabIndex={-1}>Not found</h1>
          <Empty>The board has no such page.</Empty>
        </>
      );
  }
}

/** Asks until the board answers: it may be open while the application restarts. */
async function readInfo(): Promise<void> {
  for (;;) {
    try {
      return info.set(await api.get("/api/info"));
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  }
}

void readInfo();
const root = document.getElementById("board")!;
root.textContent = "";
render(<Board />, root);
