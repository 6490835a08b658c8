// Jobs: functions that minions were asked for together.

import { h } from "../dom.js";
import { get, post } from "../api.js";
import { ago, count, duration, plural } from "../format.js";
import { act, ask, attempt, badge, bar, facts, heading, link, minionLink, outcomeBadge, section, table } from "../parts.js";

const LIMIT = 50;
const GOOD = ["ok", "changed"];

function outcomes(job) {
  const entries = Object.entries(job.outcomes);
  return bar(
    [...entries.map(([name, number]) => [GOOD.includes(name) ? "ok" : "bad", number, name]), ["busy", job.running, "under way"]],
    "Outcomes",
  );
}

export const jobsPage = {
  title: () => "Jobs",
  live: (event) => event.tag.includes("job") || event.tag.includes("/result"),
  load: async ({ query: { before, active } }, signal) => get("/jobs", { limit: LIMIT, before, active: active ? "true" : "" }, signal),
  view: (answer, ctx) => {
    const jobs = Array.isArray(answer) ? answer : answer.jobs;
    const { active } = ctx.params.query;
    return [
      heading("Jobs", { about: "Functions that people, schedules and reactors asked minions for.", actions: [link(ctx.href({ active: active ? "" : "1", before: "" }), active ? "All jobs" : "Only those that go on")] }),
      table(
        "Jobs",
        [["Began"], ["Function"], ["Arguments", "text"], ["Target"], ["By"], ["Minions", "number"], ["Outcomes"], ["Ended"]],
        jobs.map((each) => ({
          key: each.jid,
          cells: [
            link(`/jobs/${encodeURIComponent(each.jid)}`, ago(each.created)),
            h("code", {}, each.fun),
            h("span", { class: "line", title: each.args }, each.args),
            each.target || "—",
            each.user || "—",
            count(each.minions),
            outcomes(each),
            each.finished ? ago(each.finished) : badge("busy", "↻", plural(each.running, "runs", "run")),
          ],
        })),
        active ? "No job goes on." : "No job yet.",
      ),
      jobs.length === LIMIT ? h("p", { class: "pager" }, link(ctx.href({ before: jobs.at(-1).jid }), "Older →")) : null,
    ];
  },
};

export const jobPage = {
  title: ({ parts }) => `Job ${parts[0]}`,
  live: (event, { parts }) => JSON.stringify(event.data ?? {}).includes(parts[0]),
  load: async ({ parts: [jid] }, signal) => get(`/job`, { jid }, signal),
  view: ({ job, minions }, ctx) => [
    heading(job.fun, {
      badges: [job.finished ? badge("ok", "✓", "ended") : badge("busy", "↻", `goes on, on ${count(job.running)}`)],
      actions: job.finished ? [] : [act(ctx.session, "operator", "End it", () => kill(job, ctx), { kind: "danger" })],
    }),
    facts([
      ["Job", h("code", {}, job.jid)],
      ["Arguments", job.args ? h("code", { class: "wrap" }, job.args) : ""],
      ["Target", job.target ? `${job.target}${job.target_type ? ` (${job.target_type})` : ""}` : ""],
      ["Asked by", job.user],
      ["Began", ago(job.created)],
      ["Ended", job.finished ? ago(job.finished) : ""],
    ]),
    outcomes(job),
    section(
      "Minions",
      table(
        "Minions",
        [["Minion"], ["Outcome"], ["Took", "number"], ["Run"], ["What", "text"]],
        minions.map((each) => ({
          key: each.minion,
          cells: [
            minionLink(each.minion),
            each.outcome ? outcomeBadge(each.outcome) : badge("busy", "↻", each.state || "not asked"),
            each.finished ? duration(each.seconds) : "",
            each.run_id ? link(`/runs/${encodeURIComponent(each.run_id)}`, "what it returned") : "—",
            h("span", { class: "line", title: each.summary }, each.summary),
          ],
        })),
      ),
    ),
  ],
};

async function kill(job, ctx) {
  if ((await ask({ title: `End ${job.fun} on ${plural(job.running, "minion")}?`, yes: "End it", kind: "danger" })) === null) return;
  if (await attempt(() => post("/jobs/kill", { jid: job.jid }), (asked) => `${plural(asked.filter((each) => each.asked).length, "minion")} were asked to end it.`)) ctx.soon(500);
}
