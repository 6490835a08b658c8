// Minions: a list that is filtered and paged by the controller, and one with all that is known of it.

import { h } from "../dom.js";
import { get, post } from "../api.js";
import { ago, count, duration, inline, plural } from "../format.js";
import {
  HEALTHS, SYNCS, act, ask, attempt, badge, button, changes, diff, facts, heading, healthBadge, link, minionLink, note, pager,
  pre, problems, runBadge, section, select, stateTitle, steps, syncBadge, table, tabs,
} from "../parts.js";

const LIMIT = 100;
const KINDS = [["glob", "glob"], ["compound", "compound"], ["grain", "grain"], ["pillar", "pillar"], ["list", "list"], ["nodegroup", "node group"]];

export const minionsPage = {
  title: () => "Minions",
  live: (event) => event.minion || event.tag.startsWith("saltern/revision"),
  load: async ({ query }, signal) => {
    const { expression, kind, text, sync, health, sort, descending, offset } = query;
    return get("/minions", { expression, kind: expression ? kind : "", text, sync, health, sort: sort ?? "health", descending, offset, limit: LIMIT }, signal);
  },
  view: (page, ctx) => {
    const { query } = ctx.params;
    return [
      heading("Minions", { about: [`${plural(page.total, "minion")} found.`] }),
      filters(query, ctx),
      table(
        "Minions",
        [["Minion"], ["Sync"], ["Health"], ["Applied"], ["When"], ["What", "text"]],
        page.minions.map((each) => ({
          key: each.minion,
          cells: [
            h("span", {}, minionLink(each.minion), stockAgent(each.agent) ? h("span", { class: "faint" }, ` · ${each.agent}`) : null),
            syncBadge(each.sync),
            healthBadge(each.health),
            h("code", {}, each.applied_revision || "—"),
            ago(each.applied_at),
            h("span", { class: "line", title: each.message }, each.running[0] ?? each.message),
          ],
        })),
        "No minion is meant by these filters.",
      ),
      pager({ offset: page.offset, limit: LIMIT, total: page.total, to: (offset) => ctx.href({ offset: offset || "" }) }),
    ];
  },
};

/** What a stock minion at a gateway is: `salt 3008.1`; nothing for an agent of this project. */
function stockAgent(agent) {
  return agent?.startsWith("salt ") ? agent : "";
}

function filters(query, ctx) {
  const names = (list, all) => [["", all], ...list.map((each) => [each, each])];
  return h(
    "form",
    {
      class: "filters",
      role: "search",
      "aria-label": "Filter minions",
      onsubmit: (event) => {
        event.preventDefault();
        const { text, expression } = event.target.elements;
        ctx.go({ text: text.value.trim(), expression: expression.value.trim() });
      },
    },
    h("label", { class: "field" }, h("span", {}, "Name has"), h("input", { type: "search", name: "text", value: query.text ?? "", maxlength: "200" })),
    h("label", { class: "field" }, h("span", {}, "Target"), h("input", { type: "search", name: "expression", value: query.expression ?? "", maxlength: "2000", placeholder: "web* and G@os:Debian" })),
    select("as", query.kind ?? "glob", KINDS, (kind) => ctx.go({ kind: kind === "glob" ? "" : kind })),
    select("Sync", query.sync ?? "", names(SYNCS, "any"), (sync) => ctx.go({ sync })),
    select("Health", query.health ?? "", names(HEALTHS, "any"), (health) => ctx.go({ health })),
    select("Order", query.sort ?? "health", [["health", "worst health"], ["sync", "worst sync"], ["minion", "name"]], (sort) => ctx.go({ sort: sort === "health" ? "" : sort })),
    h("button", { type: "submit" }, "Filter"),
  );
}

const TABS = [["", "Status"], ["states", "States"], ["drift", "Pending and drift"], ["runs", "Runs"], ["grains", "Grains"], ["policy", "Policy"], ["events", "Events"]];

export const minionPage = {
  title: ({ parts }) => parts[0],
  live: (event, { parts }) => event.minion === parts[0] || event.tag.startsWith("saltern/revision"),
  onEvent: (event, ctx) => {
    if (event.minion !== ctx.params.parts[0]) return;
    ctx.state.events = [event, ...(ctx.state.events ?? [])].slice(0, 200);
  },
  load: async ({ parts: [minion, tab] }, signal) => {
    const detail = get("/minions/detail", { minion }, signal);
    const more = LOADS[tab]?.(minion, signal);
    return { tab, minion, detail: await detail, more: await more };
  },
  view: (data, ctx) => {
    const { minion, tab, detail } = data;
    const { status, presence } = detail;
    const base = `/minions/${encodeURIComponent(minion)}`;
    return [
      heading(minion, { badges: [syncBadge(status.sync), healthBadge(status.health), presence.connected ? badge("ok", "●", "connected") : badge("off", "○", "not connected")], actions: actions(minion, status, ctx) }),
      tabs("Parts of this minion", TABS.map(([id, text]) => [id, text, id ? `${base}/${id}` : base]), tab),
      ...(VIEWS[tab] ?? VIEWS[""])(data, ctx),
    ];
  },
};

const LOADS = {
  "": (minion, signal) => Promise.all([get("/why", { minion }, signal), get("/history", { minion, limit: 5 }, signal)]),
  drift: (minion, signal) => get("/diff", { minion }, signal).then(([one]) => one),
  runs: (minion, signal) => get("/history", { minion, limit: 100 }, signal),
  policy: (minion, signal) => get("/policy", { minion }, signal),
};

function target(minion) {
  return { kind: "list", expression: minion };
}

function actions(minion, status, ctx) {
  const { session } = ctx;
  const then = (done) => done && ctx.soon(200);
  const sync = async (test) => {
    const text = test ? "Its whole highstate is planned; nothing is changed." : "What is pending is applied there now.";
    if ((await ask({ title: `${test ? "Check" : "Sync"} ${minion}?`, text, yes: test ? "Check" : "Sync" })) === null) return;
    then(await attempt(() => post("/sync", { target: target(minion), whole: test, test }), (items) => told(items, minion)));
  };
  const pause = async () => {
    const path = status.paused ? "/resume" : "/pause";
    const title = status.paused ? `Apply pushes on ${minion} again?` : `Apply nothing more on ${minion}?`;
    if ((await ask({ title, yes: status.paused ? "Resume" : "Pause" })) === null) return;
    then(await attempt(() => post(path, { target: target(minion) }), status.paused ? "It applies again." : "It is paused."));
  };
  return [
    act(session, "operator", "Check", () => sync(true)),
    act(session, "operator", "Sync", () => sync(false), { kind: "primary" }),
    act(session, "operator", status.paused ? "Resume" : "Pause", pause),
    status.unconfirmed
      ? act(session, "operator", "Confirm", async () => then(await attempt(() => post("/confirm", { target: target(minion) }), "It keeps what it has.")))
      : null,
  ];
}

function told(items, minion) {
  const done = items.filter((each) => each.t === "sync").at(-1);
  return done ? `${minion}: ${done.outcome}${done.summary ? ` (${done.summary})` : ""}` : `${minion} was asked.`;
}

const VIEWS = {
  "": ({ detail: { status, presence, grains }, more: [why, history] }) => [
    status.message ? note(["Healthy", "Progressing"].includes(status.health) ? "info" : "warn", h("p", {}, status.message)) : null,
    problems(status.errors),
    problems(status.warnings, "warn"),
    problems(status.problems, "warn"),
    status.unconfirmed ? note("warn", h("p", {}, "What was applied waits to be confirmed, else it goes back to ", h("code", {}, status.unconfirmed.back_to), " ", ago(status.unconfirmed.until), ".")) : null,
    status.held ? note("info", h("p", {}, `It has ${status.held.pull} in place of what is live, by ${status.held.user}, and goes back `, ago(status.held.until), ".")) : null,
    status.taken_back ? note("info", h("p", {}, `It was taken back to `, h("code", {}, status.taken_back.revision), ` by ${status.taken_back.user}: ${status.taken_back.why}`)) : null,
    facts([
      ["Applied", h("span", {}, h("code", {}, status.applied_revision || "nothing"), " ", ago(status.applied_at, { empty: "" }))],
      ["Compiled", h("code", {}, status.attempted_revision || "nothing")],
      ["Heard of", presence.connected ? "connected" : ago(presence.last_seen)],
      ["System", [presence.os, presence.os_release].filter(Boolean).join(" ")],
      ["Address", presence.address],
      ["Relay", presence.relay],
      ["Agent", stockAgent(presence.agent)],
      ["Mode", presence.shadow ? "shadow: a Salt master drives it" : ""],
      ["Environment", inline(grains.environment ?? "")],
      ["Running", status.running.join(", ")],
      ["Drift", status.drifted ? h("a", { href: `/minions/${encodeURIComponent(status.minion)}/drift` }, `${plural(status.drifted, "state")}: ${Object.entries(status.classes).map(([name, number]) => `${number} ${name}`).join(", ")}`) : ""],
      ["Left behind", status.unnamed ? plural(status.unnamed, "resource that no state names", "resources that no state names") : ""],
    ]),
    section("Why it is so", why.steps.length ? steps(why.steps) : h("p", { class: "empty" }, "Nothing is kept of what led here.")),
    section("Last runs", runTable(history)),
  ],
  states: ({ minion, detail: { states, more_states: left } }, ctx) => [
    h("p", { class: "about" }, `${plural(states.length + left, "state")}, in the order in which they run. Each name shows where its values are written.`),
    table(
      "States",
      [["State"], ["Function"], ["SLS"], ["Environment"], [""]],
      states.map((each) => ({
        key: each.key,
        cells: [
          h("span", {}, each.id, each.name !== each.id ? h("span", { class: "faint" }, ` · ${each.name}`) : null),
          h("code", {}, each.function),
          h("code", {}, each.sls),
          each.saltenv,
          button(ctx.state.blamed?.key === each.key ? "Hide" : "Where from", () => toggleBlame(minion, each, ctx)),
        ],
      })).flatMap((row) => (ctx.state.blamed?.key === row.key ? [row, blameRow(ctx.state.blamed)] : [row])),
      "Nothing was compiled for it yet.",
    ),
    left ? h("p", { class: "faint" }, `and ${count(left)} more; the command line shows all`) : null,
  ],
  drift: ({ more }) => driftView(more),
  runs: ({ more }) => [runTable(more)],
  grains: ({ detail: { grains, more_grains: left } }) => [
    table("Grains", [["Grain"], ["Value", "text"]], Object.entries(grains).map(([name, value]) => ({ key: name, cells: [h("code", {}, name), h("code", { class: "wrap" }, inline(value))] }))),
    left ? h("p", { class: "faint" }, `and ${count(left)} more`) : null,
  ],
  policy: ({ more }) => [
    note(more.open ? "info" : "warn", h("p", {}, more.open ? "Changes may be applied by themselves now." : more.why), more.opens_at ? h("p", {}, "They may ", ago(more.opens_at), ".") : null),
    table("Policy", [["Key"], ["Value"], ["Said by", "text"]], more.keys.map((each) => ({ key: each.key, cells: [h("code", {}, each.key), h("code", {}, inline(each.value)), each.source] }))),
    more.windows.length
      ? section("Windows", table("Windows", [["Kind"], ["Schedule"], ["Duration"], ["Time zone"], ["Now"]], more.windows.map((each) => [each.kind, h("code", {}, each.schedule), duration(each.duration), each.timezone, each.open ? badge("busy", "●", "open") : badge("off", "○", "closed")])))
      : null,
    more.ignored.length
      ? section("Differences that are ignored", table("Ignored", [["State"], ["Id"], ["Field"], ["Until"], ["Why", "text"]], more.ignored.map((each) => [each.state, each.id, each.field, each.expires || "—", each.reason])))
      : null,
  ],
  events: (_, ctx) => [
    h("p", { class: "about" }, "Events of this minion since this page was opened. ", link("/events", "All events")),
    table("Events", [["When"], ["Tag"], ["Data", "text"]], (ctx.state.events ?? []).map((each) => ({ key: each.id || undefined, cells: [ago(each.time), h("code", {}, each.tag), h("code", { class: "wrap" }, JSON.stringify(each.data))] })), "Nothing has happened there yet."),
  ],
};

async function toggleBlame(minion, state, ctx) {
  if (ctx.state.blamed?.key === state.key) {
    ctx.set({ blamed: null });
    return;
  }
  ctx.set({ blamed: { key: state.key } });
  try {
    const view = await get("/blame", { minion, state: state.key });
    ctx.set({ blamed: { key: state.key, view } });
  } catch (error) {
    ctx.set({ blamed: { key: state.key, error } });
  }
}

function blameRow({ key, view, error }) {
  const shown = error
    ? note("warn", h("p", {}, error.message))
    : view
      ? view.states.map((one) =>
          table(
            "Where the values are written",
            [["Argument"], ["Value", "text"], ["Written at", "text"], ["Last changed by", "text"]],
            one.values.map((each) => [
              h("code", {}, each.name),
              h("code", { class: "wrap" }, inline(each.value)),
              place(each.place),
              h("span", {}, commitOf(each.place), ...each.pillar.map((key) => h("span", { class: "block" }, h("code", {}, key.path), " ", ...key.places.flatMap((where) => [place(where), " ", commitOf(where)])))),
            ]),
          ),
        )
      : h("p", { class: "faint" }, "One moment …");
  return { key: `${key} blame`, class: "inner", cells: [h("div", {}, shown)] };
}

function place(where) {
  if (!where) return "—";
  return h("code", {}, `${where.file}:${where.line}`);
}

function commitOf(where) {
  const commit = where?.commit;
  if (!commit) return null;
  return h("span", {}, h("code", {}, commit.commit.slice(0, 8)), ` ${commit.author}: ${commit.subject} `, commit.at ? ago(commit.at) : null);
}

/** What is pending on a minion and what drifted there. */
export function driftView(one) {
  return [
    problems(one.errors),
    section("Pending", one.text ? [h("p", { class: "about" }, "From ", h("code", {}, one.base || "nothing"), " to ", h("code", {}, one.head), "."), diff(one.text)] : h("p", { class: "empty" }, "Nothing is pending.")),
    one.pillar ? section("Pillar behind it", diff(one.pillar)) : null,
    section(
      "Drift",
      one.drift.length
        ? [
            h("p", { class: "about" }, "Found ", ago(one.drift_at), one.agent ? `, as test=True of ${one.agent} says` : "", ". ", one.heal),
            ...one.drift.map((each) =>
              h(
                "details",
                { key: each.key, class: "state", open: one.drift.length < 4 },
                h("summary", {}, badge("warn", "△", each.drift_class || "drift"), " ", stateTitle(each.key), h("span", { class: "faint" }, ` ${each.comment}`)),
                changes(each.changes),
                Object.keys(each.evidence).length ? [h("h3", {}, "What the machine tells of it"), pre(JSON.stringify(each.evidence, null, 2))] : null,
              ),
            ),
          ]
        : h("p", { class: "empty" }, one.drift_at ? "The last check found none." : "It was not checked yet."),
    ),
    one.ignored.length
      ? section("Ignored by policy", ...one.ignored.map((each) => h("details", { class: "state" }, h("summary", {}, stateTitle(each.key)), pre(JSON.stringify(each.ignored, null, 2)))))
      : null,
    one.unnamed
      ? section("Left behind", table("What no state names any more", [["Resource"], ["Made by"], ["Becomes"], ["Why", "text"]], one.unnamed.resources.map((each) => [h("code", {}, each.resource), stateTitle(each.maker), each.fate, each.why])))
      : null,
  ];
}

/** Runs, newest first. */
export function runTable(runs, { withMinion = false } = {}) {
  return table(
    "Runs",
    [["Run"], ...(withMinion ? [["Minion"]] : []), ["Kind"], ["Outcome"], ["Changes", "number"], ["Failed", "number"], ["Took", "number"], ["Revision"], ["Asked by"], ["What", "text"]],
    runs.map((run) => ({
      key: run.run_id,
      cells: [
        h("a", { href: `/runs/${encodeURIComponent(run.run_id)}` }, ago(run.created)),
        ...(withMinion ? [minionLink(run.minion)] : []),
        run.fun || `${run.kind}${run.test ? " (test)" : ""}`,
        runBadge(run),
        run.changes ? count(run.changes) : "·",
        run.failed ? count(run.failed) : "·",
        run.finished ? duration(run.seconds) : "",
        h("code", {}, run.revision),
        run.user || h("span", { class: "faint" }, "—"),
        h("span", { class: "line", title: run.summary }, run.summary || run.args),
      ],
    })),
    "No run yet.",
  );
}
