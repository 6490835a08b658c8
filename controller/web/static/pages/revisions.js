// Revisions: who pushed what, what became of it, and what it changes.

import { h } from "../dom.js";
import { get, post } from "../api.js";
import { ago, count } from "../format.js";
import { act, errorBox, facts, heading, note, pager, phaseBadge, pre, revisionBadge, section, table } from "../parts.js";
import { reportView } from "../report.js";
import { rollBack } from "./rollouts.js";

const LIMIT = 50;

export const revisionsPage = {
  title: () => "Revisions",
  live: (event) => event.tag.includes("revision") || event.tag.includes("rollout"),
  load: async ({ query: { offset } }, signal) => get("/revisions", { offset, limit: LIMIT }, signal),
  view: (page, ctx) => [
    heading("Revisions", { about: "What went live, newest first." }),
    table(
      "Revisions",
      [["Revision"], ["Change", "text"], ["Author"], ["Live since"], ["Minions changed", "number"], ["State"]],
      page.revisions.map((each) => ({
        key: each.revision,
        cells: [
          h("a", { href: `/revisions/${encodeURIComponent(each.revision)}` }, h("code", {}, each.revision)),
          each.subject || "—",
          each.author || "—",
          ago(each.live_since ?? each.first_seen),
          count(each.changed),
          revisionBadge(each),
        ],
      })),
      "No revision has been live yet.",
    ),
    pager({ offset: page.offset, limit: LIMIT, total: page.total, to: (offset) => ctx.href({ offset: offset || "" }) }),
  ],
};

export const revisionPage = {
  title: ({ parts }) => `Revision ${parts[0]}`,
  live: (event, { parts }) => event.revision?.startsWith(parts[0]) || event.tag.includes("rollout"),
  load: async ({ parts: [revision] }, signal) => {
    const [list, rollouts] = await Promise.all([get("/revisions", { limit: 200 }, signal), get("/rollouts", { limit: 100 }, signal)]);
    const at = list.revisions.findIndex((each) => each.revision === revision || each.digest === revision || each.digest?.startsWith(revision));
    return { revision, one: list.revisions[at] ?? null, before: list.revisions[at + 1] ?? null, rollouts: rollouts.filter((each) => each.revision === revision || list.revisions[at]?.digest === each.revision) };
  },
  view: ({ revision, one, before, rollouts }, ctx) => {
    if (!one) return [heading(`Revision ${revision}`), note("warn", h("p", {}, "It is not among the newest that are kept."))];
    return [
      heading(one.subject || one.revision, {
        badges: [revisionBadge(one)],
        actions: [before && one.live ? act(ctx.session, "operator", `Take back to ${before.revision}`, () => rollBack(ctx, before.revision), { kind: "danger" }) : null].filter(Boolean),
      }),
      facts([
        ["Revision", h("code", {}, one.revision)],
        ["Commit", one.commit ? h("code", {}, one.commit) : ""],
        ["Author", one.author],
        ["Committed", one.committed_at ? ago(one.committed_at) : ""],
        ["Live since", ago(one.live_since ?? one.first_seen)],
        ["Minions changed", count(one.changed)],
      ]),
      one.error ? note("bad", pre(one.error)) : null,
      one.compile_error ? note("bad", h("p", {}, "It did not compile for all minions."), pre(one.compile_error)) : null,
      rollouts.length
        ? section("Rollout", ...rollouts.map((each) => h("p", { key: each.id }, phaseBadge(each.phase), " ", h("a", { href: `/rollouts/${encodeURIComponent(each.id)}` }, `${count(each.released)} of ${count(each.minions)} released`), ` ${each.why}`)))
        : null,
      section("What it changes", effect(one, before, ctx)),
    ];
  },
};

function effect(one, before, ctx) {
  const { effect: found } = ctx.state;
  if (found?.report) return reportView(found.report);
  if (found?.error) return errorBox(found.error);
  if (!before) return h("p", { class: "empty" }, "It is the oldest that is kept: there is nothing to compare it with.");
  return h(
    "p",
    {},
    act(ctx.session, "operator", found ? "Comparing …" : `Compare with ${before.revision}`, () => compare(one, before, ctx), { disabled: Boolean(found) }),
    h("span", { class: "faint" }, " Both are compiled for the fleet; no minion is asked."),
  );
}

async function compare(one, before, ctx) {
  ctx.set({ effect: {} });
  try {
    const items = await post("/preview", { base: before.revision, head: one.revision, live: "none", revisions: true });
    ctx.set({ effect: { report: items.find((each) => each.t === "preview-finished").report } });
  } catch (error) {
    ctx.set({ effect: { error } });
  }
}
