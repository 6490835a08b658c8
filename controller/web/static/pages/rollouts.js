// Rollouts: a revision on its way to the minions that it changes something for.

import { h } from "../dom.js";
import { get, post } from "../api.js";
import { ago, count, plural } from "../format.js";
import { act, ask, attempt, badge, bar, facts, heading, link, minionLink, note, phaseBadge, section, table } from "../parts.js";

export const rolloutsPage = {
  title: () => "Rollouts",
  live: (event) => event.tag.includes("rollout") || event.tag.includes("revision") || event.tag.includes("/result"),
  load: async (_, signal) => Promise.all([get("/rollouts", { limit: 100 }, signal), get("/quarantine", {}, signal)]),
  view: ([rollouts, quarantine], ctx) => [
    heading("Rollouts", {
      about: "Each revision that changes something, in its way to the fleet.",
      actions: [act(ctx.session, "operator", "Take back the live revision", () => rollBack(ctx), { kind: "danger" })],
    }),
    table(
      "Rollouts",
      [["Revision"], ["Phase"], ["Released"], ["Minions", "number"], ["Began"], ["Why", "text"]],
      rollouts.map((each) => ({
        key: each.id,
        cells: [
          h("a", { href: `/rollouts/${encodeURIComponent(each.id)}` }, h("code", {}, each.revision.slice(0, 8)), " ", each.about),
          phaseBadge(each.phase),
          bar([["ok", each.released, "released"], ["off", each.minions - each.released, "not yet"]], "Released"),
          count(each.minions),
          ago(each.created),
          each.why,
        ],
      })),
      "Nothing has been rolled out yet.",
    ),
    section(
      "Taken back",
      table(
        "Revisions that were taken back",
        [["Revision"], ["For"], ["Back to"], ["By"], ["When"], ["Why", "text"], [""]],
        quarantine.map((each) => ({
          key: each.rollback || each.revision,
          cells: [
            h("code", {}, each.revision),
            each.minions.length ? plural(each.minions.length, "minion") : "everybody",
            h("code", {}, each.back_to),
            each.user || "—",
            ago(each.at),
            each.why,
            act(ctx.session, "operator", "Release", () => release(each, ctx)),
          ],
        })),
        "No revision is in quarantine.",
      ),
    ),
  ],
};

async function release(one, ctx) {
  const name = one.revision;
  const question = { name, target: one.minions.length ? { kind: "list", expression: one.minions.join(",") } : null };
  if ((await ask({ title: `Let ${name} be live again?`, text: "It may be applied as any other revision.", yes: "Release" })) === null) return;
  if (await attempt(() => post("/quarantine/release", question), `${name} may be live again.`)) ctx.soon(200);
}

/** Take the live revision, or minions, back; the question is asked first. */
export async function rollBack(ctx, revision = "") {
  const why = await ask({
    title: revision ? `Take everybody back to ${revision}?` : "Take the live revision back?",
    text: "The commit is kept from coming back by itself until a newer one takes its place.",
    yes: "Take back",
    kind: "danger",
    field: { label: "Why", value: "", needed: true },
  });
  if (why === null) return;
  if (await attempt(() => post("/rollback", { to: revision, why }), "It is taken back.")) ctx.soon(200);
}

export const rolloutPage = {
  title: ({ parts }) => `Rollout ${parts[0]}`,
  live: (event) => event.tag.includes("rollout") || event.tag.includes("/run") || event.tag.includes("/result"),
  load: async ({ parts: [name] }, signal) => get("/rollout", { name }, signal),
  view: (one, ctx) => [
    heading(one.about || one.revision, { badges: [phaseBadge(one.phase)], about: one.why, actions: actions(one, ctx) }),
    facts([
      ["Revision", link(`/revisions/${encodeURIComponent(one.revision)}`, h("code", {}, one.revision))],
      ["Began", ago(one.created)],
      ["In this phase since", ago(one.since)],
      ["Minions", count(one.minions)],
      ["Approvals", one.needs ? `${one.approvals.length} of ${one.needs}${one.approvals.length ? `: ${one.approvals.join(", ")}` : ""}` : one.approvals.join(", ")],
    ]),
    section(
      "Waves",
      one.batches.length ? h("ol", { class: "waves" }, ...one.batches.map((each, place) => wave(each, place))) : h("p", { class: "empty" }, "It has no batches: nothing changes for anybody."),
    ),
  ],
};

function wave(one, place) {
  const done = one.good + one.failed;
  const state = { waiting: ["off", "○"], released: ["busy", "↻"], done: one.failed ? ["bad", "✕"] : ["ok", "✓"] }[one.state];
  const others = [
    [one.pending, "to come"],
    [one.outside_window, "outside their windows"],
    [one.absent, "not connected"],
    [one.held, "held"],
  ].filter(([number]) => number);
  return h(
    "li",
    { key: `${place}`, class: one.state },
    h(
      "div",
      { class: "wave-head" },
      badge(...state, one.state),
      h("b", {}, one.wave || "everybody", one.canary ? " · canary" : ""),
      h("span", { class: "faint" }, `${count(done)} of ${plural(one.minions, "minion")}${one.failed ? `, ${count(one.failed)} failed` : ""}${others.map(([n, text]) => `, ${count(n)} ${text}`).join("")}`),
    ),
    bar([["ok", one.good, "good"], ["bad", one.failed, "failed"], ["busy", one.state === "released" ? one.pending : 0, "under way"], ["off", one.minions - done - (one.state === "released" ? one.pending : 0), "to come"]], `Wave ${one.wave}`),
    one.failures.length ? note("bad", h("p", {}, "Failed on ", ...one.failures.flatMap((name, at) => [at ? ", " : "", minionLink(name)]))) : null,
    one.names.length
      ? h("details", {}, h("summary", {}, "Minions"), h("p", {}, ...one.names.flatMap((name, at) => [at ? ", " : "", minionLink(name)]), one.minions > one.names.length ? " …" : ""))
      : null,
  );
}

const OVER = new Set(["Completed", "Aborted", "RolledBack", "Superseded"]);

function actions(one, ctx) {
  const change = (action, title, text, yes, kind = "primary") => async () => {
    if ((await ask({ title, text, yes, kind })) === null) return;
    if (await attempt(() => post("/rollout/change", { action, name: one.id }), (answer) => `The rollout is ${answer.phase}.`)) ctx.soon(200);
  };
  if (OVER.has(one.phase)) {
    return one.phase === "Completed" ? [act(ctx.session, "operator", "Take back", () => rollBack(ctx), { kind: "danger" })] : [];
  }
  const { session } = ctx;
  const needsApproval = one.needs > one.approvals.length;
  return [
    needsApproval ? act(session, "approver", "Approve", change("approve", "Approve this rollout?", `It needs ${one.needs}.`, "Approve"), { kind: "primary" }) : null,
    one.phase === "Paused"
      ? act(session, "operator", "Resume", change("resume", "Go on with this rollout?", "", "Resume"))
      : act(session, "operator", "Pause", change("pause", "Pause this rollout?", "No further batch is released.", "Pause")),
    one.phase === "Confirming" ? act(session, "operator", "Confirm", change("confirm", "Keep this revision?", "Without it, the fleet goes back when the time is over.", "Confirm"), { kind: "primary" }) : null,
    one.phase === "Failed" ? act(session, "operator", "Retry", change("retry", "Try again?", "", "Retry")) : null,
    act(session, "approver", "Promote", change("promote", "Skip what is waited for?", "The next batch is released now.", "Promote"), {
      disabled: one.phase !== "Waiting",
      title: one.phase === "Waiting" ? "" : "no wave waits",
    }),
    act(session, "operator", "Abort", change("abort", "End this rollout?", "Minions that have it keep it; the others stay as they are.", "Abort", "danger"), { kind: "danger" }),
    act(session, "operator", "Take back", () => rollBack(ctx), { kind: "danger" }),
  ].filter(Boolean);
}
