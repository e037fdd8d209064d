// The crons: when they run, and how their last runs went.

import type { JSX } from "preact";
import { api } from "../api.ts";
import { ago, clock, count, duration, inZone } from "../format.ts";
import { useMayAct } from "../info.ts";
import { type Cron, useWork } from "../live.ts";
import { ask, Empty, Loading, Page, Table, useNow } from "../parts.tsx";
import { inWords } from "../schedule.ts";

export function CronsPage(): JSX.Element {
  const work = useWork();
  return (
    <Page title="Crons">
      {!work
        ? <Loading />
        : work.crons.length === 0
        ? <Empty>The application has no crons: declare one by app.cron(name, schedule, handler).</Empty>
        : work.crons.map((cron) => <CronCard key={cron.name} cron={cron} />)}
    </Page>
  );
}

const OWN_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

function CronCard({ cron }: { cron: Cron }): JSX.Element {
  const now = useNow();
  const mayAct = useMayAct();
  const { name, schedule, timeZone, next, running, recent, runs, failures, skipped } = cron;
  const run = async () => {
    const { error, duration: took } = await api.post("/api/crons/run", { body: { name } });
    if (error !== null) throw new Error(`${name} failed after ${duration(took)}: ${error}`);
    return `${name} ran in ${duration(took)}`;
  };
  return (
    <section class="card cron" aria-label={name}>
      <header>
        <h2>{name}</h2>
        {mayAct && (
          <button type="button" onClick={() => ask(`Run ${name} now, on this node?`, "Run now", run)}>Run now</button>
        )}
      </header>
      <p class="lead">
        {inWords(schedule)}, {timeZone} <code>{schedule}</code>
      </p>
      <p class="next">
        {running
          ? <b>Running for {duration(now - running.began)}</b>
          : next[0] === undefined
          ? "It never runs again"
          : (
            <>
              Next run <b>{ago(next[0], now)}</b>
            </>
          )}
        {" · "}
        {runs === 1 ? "1 run" : `${count(runs)} runs`},{" "}
        <span class={failures > 0 ? "badtext" : ""}>{count(failures)} failed</span>, {count(skipped)} skipped
      </p>
      <div class="columns">
        <Table
          name={`Next times of ${name}`}
          head={OWN_ZONE === timeZone ? [`Next, ${timeZone}`] : [`Next, ${timeZone}`, `Here, ${OWN_ZONE}`]}
        >
          {next.map((time) => (
            <tr key={time}>
              <td>{inZone(time, timeZone)}</td>
              {OWN_ZONE !== timeZone && <td>{inZone(time)}</td>}
            </tr>
          ))}
        </Table>
        {recent.length === 0
          ? <Empty>No run has ended yet.</Empty>
          : (
            <Table name={`Last runs of ${name}`} head={["Last runs", "Took", "Outcome"]}>
              {recent.map(({ scheduled, began, ended, error }) => (
                <tr key={scheduled}>
                  <td>{clock(scheduled)}</td>
                  <td class="number">{duration(ended - began)}</td>
                  <td>
                    {error === null ? <span class="state good">done</span> : <span class="badtext">{error}</span>}
                  </td>
                </tr>
              ))}
            </Table>
          )}
      </div>
    </section>
  );
}
