// Runs: the newest, and one with what led to it and what each state did.

import { h } from "../dom.js";
import { get } from "../api.js";
import { ago, count, duration, inline, plural, stateTitle } from "../format.js";
import { badge, changes, facts, heading, link, minionLink, note, pre, runBadge, section, steps } from "../parts.js";
import { runTable } from "./minions.js";

const LIMIT = 200;

export const runsPage = {
  title: () => "Runs",
  live: (event) => event.tag.includes("/run") || event.tag.includes("/result"),
  load: async ({ query: { minion } }, signal) => get("/history", { minion, limit: LIMIT }, signal),
  view: (runs, ctx) => [
    heading("Runs", { about: `The newest ${count(Math.min(runs.length, LIMIT))}.` }),
    h(
      "form",
      {
        class: "filters",
        role: "search",
        "aria-label": "Filter runs",
        onsubmit: (event) => {
          event.preventDefault();
          ctx.go({ minion: event.target.elements.minion.value.trim() });
        },
      },
      h("label", { class: "field" }, h("span", {}, "Minion"), h("input", { type: "search", name: "minion", value: ctx.params.query.minion ?? "", maxlength: "300" })),
      h("button", { type: "submit" }, "Filter"),
    ),
    runTable(runs, { withMinion: true }),
  ],
};

const ORDER = { failed: 0, changed: 1, pending: 2, ok: 3 };

function kindOf(state) {
  if (state.result === false) return "failed";
  const changed = state.changes && Object.keys(state.changes).length;
  if (state.result === null || state.result === undefined) return changed ? "pending" : "ok";
  return changed ? "changed" : "ok";
}

const SIGNS = { failed: ["bad", "✕"], changed: ["done", "●"], pending: ["busy", "○"], ok: ["ok", "✓"] };

export const runPage = {
  title: ({ parts }) => `Run ${parts[0]}`,
  live: (event, { parts }) => JSON.stringify(event.data ?? {}).includes(parts[0]),
  load: async ({ parts: [id] }, signal) => get("/run", { id }, signal),
  view: (run, ctx) => {
    const { entry } = run;
    const all = Object.entries(run.states).map(([key, state]) => ({ key, state, kind: kindOf(state) }));
    const counts = {};
    for (const each of all) counts[each.kind] = (counts[each.kind] ?? 0) + 1;
    const wanted = ctx.params.query.show ?? (counts.failed || counts.changed || counts.pending ? "changes" : "all");
    const shown = all.filter((each) => wanted === "all" || each.kind !== "ok").sort((a, b) => ORDER[a.kind] - ORDER[b.kind]);
    return [
      heading(entry.fun || `${entry.kind}${entry.test ? " (test)" : ""} on ${entry.minion}`, { badges: [runBadge(entry)], about: entry.summary }),
      facts([
        ["Run", h("code", {}, entry.run_id)],
        ["Minion", minionLink(entry.minion)],
        ["Began", entry.started ? ago(entry.started) : "not yet"],
        ["Took", entry.finished ? duration(entry.seconds) : ""],
        ["Revision", entry.revision ? link(`/revisions/${encodeURIComponent(entry.revision)}`, h("code", {}, entry.revision)) : ""],
        ["Asked by", entry.user],
        ["Arguments", entry.args ? h("code", { class: "wrap" }, entry.args) : ""],
        ["Plan", run.plan],
        ["Rollout", run.rollout ? link(`/rollouts/${encodeURIComponent(run.rollout)}`, h("code", {}, run.rollout)) : ""],
        ["Approved by", run.approvals.map((each) => each.user).join(", ")],
        ["Asked to run", run.keys ? plural(run.keys.length, "state") : ""],
      ]),
      run.error ? note("bad", pre(run.error)) : null,
      run.steps.length ? section("What led to it", steps(run.steps)) : null,
      all.length
        ? section(
            "States",
            h(
              "p",
              { class: "legend" },
              ...Object.entries(counts).map(([kind, number]) => h("span", {}, badge(...SIGNS[kind], kind), ` ${count(number)}`)),
              link(ctx.href({ show: wanted === "all" ? "changes" : "all" }), wanted === "all" ? "Only what is not as it should be" : "Show all"),
            ),
            ...shown.slice(0, 500).map(({ key, state, kind }) =>
              h(
                "details",
                { key, class: "state", open: kind === "failed" || (kind !== "ok" && shown.length < 6) },
                h("summary", {}, badge(...SIGNS[kind], kind), " ", stateTitle(key), h("span", { class: "faint" }, ` ${firstLine(state.comment)} ${state.duration ? duration(state.duration / 1000) : ""}`)),
                state.comment && String(state.comment).includes("\n") ? pre(String(state.comment)) : null,
                changes(state.changes),
              ),
            ),
            shown.length > 500 ? h("p", { class: "faint" }, `and ${count(shown.length - 500)} more; saltern show ${entry.run_id}`) : null,
          )
        : null,
      run.value !== null && run.value !== undefined ? section("Returned", pre(typeof run.value === "string" ? run.value : JSON.stringify(run.value, null, 2))) : null,
    ];
  },
};

function firstLine(text) {
  return inline(text ?? "").split("\n")[0].slice(0, 200);
}
