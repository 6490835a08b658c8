// The fleet: how its groups stand, why what is not well is not, and which revisions are on their way.

import { h } from "../dom.js";
import { get } from "../api.js";
import { ago, count, plural } from "../format.js";
import { HEALTHS, badge, bar, heading, healthBadge, link, minionLink, phaseBadge, revisionBadge, section, syncBadge, table, tabs } from "../parts.js";

const SCOPES = [
  ["environment", "Environments"],
  ["wave", "Waves"],
];
const CONDITION = { True: ["ok", "✓"], False: ["bad", "✕"], Unknown: ["off", "?"] };
const KIND = { Healthy: "ok", Progressing: "busy", Drifted: "warn", Degraded: "warn", Failed: "bad", Unreachable: "bad" };
const TURNED = new Set(["Suspended", "RolloutProgressing"]);

export const fleetPage = {
  title: () => "Fleet",
  live: (event) => /^saltern\/(minion|revision|push|compile|run|rollout|fleet|git)/.test(event.tag) || event.tag.startsWith("saltern/"),
  load: async ({ query }, signal) => {
    const by = SCOPES.some(([id]) => id === query.by) ? query.by : "environment";
    const [fleet, groups, revisions, rollouts, remotes] = await Promise.all([
      get("/status/fleet", { by: "fleet", recent: "true" }, signal),
      get("/status/fleet", { by, recent: "true" }, signal),
      get("/revisions", { limit: 12 }, signal),
      get("/rollouts", { limit: 12 }, signal),
      get("/remotes", {}, signal),
    ]);
    return { by, fleet: fleet.groups[0], at: fleet.at, groups: groups.groups, revisions: revisions.revisions, rollouts, remotes };
  },
  view: ({ by, fleet, at, groups, revisions, rollouts, remotes }) => [
    heading("Fleet", { about: ["As of ", ago(at), "."] }),
    fleet ? overview(fleet) : h("p", { class: "empty" }, "There is no minion yet. ", link("/keys", "Keys that wait"), " are accepted first."),
    fleet ? conditions(fleet) : null,
    fleet ? section("What needs somebody", reasons(fleet)) : null,
    section(
      "Groups",
      tabs("Groups by", SCOPES.map(([id, text]) => [id, text, `/?by=${id}`]), by),
      matrix(groups, by),
    ),
    section("Revisions", timeline(revisions, rollouts)),
    section("Git remotes", remoteTable(remotes)),
  ],
};

function healthCounts(group) {
  const found = Object.fromEntries(HEALTHS.map((name) => [name, 0]));
  for (const each of group.states) found[each.health] += each.minions;
  return found;
}

function syncCounts(group) {
  const found = {};
  for (const each of group.states) found[each.sync] = (found[each.sync] ?? 0) + each.minions;
  return found;
}

function overview(fleet) {
  const health = healthCounts(fleet);
  const sync = syncCounts(fleet);
  const synced = sync.Synced ?? 0;
  return h(
    "div",
    { class: "cards" },
    h(
      "div",
      { class: "card wide" },
      h("p", { class: "figure" }, count(synced), h("small", {}, ` of ${plural(fleet.minions, "minion")} Synced`)),
      bar(
        Object.entries(sync).map(([name, number]) => [{ Synced: "ok", OutOfSync: "warn", Progressing: "busy" }[name] ?? "off", number, name]),
        "By sync",
      ),
      h("p", { class: "legend" }, ...Object.entries(sync).map(([name, number]) => h("a", { href: `/minions?sync=${name}` }, syncBadge(name), ` ${count(number)}`))),
    ),
    h(
      "div",
      { class: "card wide" },
      h("p", { class: "figure" }, count(health.Healthy), h("small", {}, " Healthy")),
      bar(HEALTHS.map((name) => [KIND[name], health[name], name]), "By health"),
      h("p", { class: "legend" }, ...HEALTHS.filter((name) => health[name]).map((name) => h("a", { href: `/minions?health=${name}` }, healthBadge(name), ` ${count(health[name])}`))),
    ),
    h(
      "div",
      { class: "card" },
      h("p", { class: "figure" }, count(fleet.connected)),
      h("p", { class: "faint" }, `connected of ${count(fleet.minions)}`),
    ),
  );
}

function conditions(fleet) {
  return h(
    "ul",
    { class: "conditions", "aria-label": "Conditions of the fleet" },
    ...fleet.conditions.map((each) => {
      const [kind, sign] = CONDITION[each.status];
      const shown = TURNED.has(each.type) ? (each.status === "True" ? "busy" : "off") : kind;
      return h(
        "li",
        { key: each.type },
        badge(shown, sign, each.type),
        h("span", {}, each.message || each.reason),
        h("span", { class: "faint" }, ago(each.last_transition)),
      );
    }),
  );
}

function reasons(group) {
  const rows = group.reasons.map((each) => ({
    key: each.reason + each.message,
    cells: [
      each.reason,
      count(each.minions),
      each.message,
      h("span", {}, ...each.names.slice(0, 4).flatMap((name, place) => [place ? ", " : "", minionLink(name)]), each.minions > 4 ? " …" : ""),
      ago(each.since, { empty: "" }),
    ],
  }));
  return [
    table("Why minions are not well", [["Reason"], ["Minions", "number"], ["What", "text"], ["Which"], ["Since"]], rows, "Nothing. Every minion is Synced and Healthy."),
    group.more_reasons ? h("p", { class: "faint" }, `and ${plural(group.more_reasons, "other reason")}`) : null,
  ];
}

function matrix(groups, by) {
  const rows = groups.map((group) => {
    const health = healthCounts(group);
    const synced = syncCounts(group).Synced ?? 0;
    return {
      key: group.name,
      cells: [
        group.name,
        count(group.minions),
        h("span", { class: "share" }, bar([["ok", synced, "Synced"], ["warn", group.minions - synced, "not Synced"]], "Synced"), ` ${share(synced, group.minions)}`),
        ...HEALTHS.map((name) =>
          health[name] ? h("span", { class: `cell ${KIND[name]}` }, count(health[name])) : h("span", { class: "faint" }, "·"),
        ),
        revisionsOf(group),
      ],
    };
  });
  const columns = [[by === "wave" ? "Wave" : "Environment"], ["Minions", "number"], ["Synced"], ...HEALTHS.map((name) => [name, "number"]), ["Applied"]];
  return table(`Health by ${by}`, columns, rows, by === "wave" ? "saltern.yaml has no waves." : "No groups.");
}

function share(part, whole) {
  return whole ? `${Math.floor((100 * part) / whole)} %` : "—";
}

function revisionsOf(group) {
  const shown = group.revisions.filter((each) => each.applied).slice(0, 3);
  return h("span", {}, ...shown.flatMap((each, place) => [place ? ", " : "", h("code", {}, each.revision || "none"), ` ${count(each.applied)}`]));
}

/** What went live, newest first, with the rollout that brings it to the fleet. */
function timeline(revisions, rollouts) {
  if (!revisions.length) return h("p", { class: "empty" }, "No revision has been live yet.");
  return h(
    "ol",
    { class: "timeline" },
    ...revisions.map((each) => {
      const rollout = rollouts.find((one) => one.revision === each.revision);
      return h(
        "li",
        { key: each.digest, class: rollout ? rollout.phase.toLowerCase() : each.live ? "completed" : "" },
        h("span", { class: "when" }, ago(each.live_since ?? each.first_seen)),
        revisionBadge(each),
        h("a", { href: `/revisions/${encodeURIComponent(each.revision)}` }, h("code", {}, each.revision), " ", each.subject || "a change"),
        h(
          "span",
          { class: "faint" },
          `${each.author ? `${each.author}, ` : ""}changed ${plural(each.changed, "minion")}${each.failed ? `, failed on ${count(each.failed)}` : ""} `,
          rollout
            ? h("a", { href: `/rollouts/${encodeURIComponent(rollout.id)}` }, phaseBadge(rollout.phase, rollout.why), ` ${count(rollout.released)} of ${count(rollout.minions)}`)
            : null,
        ),
      );
    }),
  );
}

function remoteTable(remotes) {
  const rows = remotes.map((each) => ({
    key: each.name,
    cells: [
      each.name,
      each.error ? badge("bad", "✕", "unreachable") : badge("ok", "✓", "reached"),
      h("code", {}, each.branch),
      h("span", {}, h("code", {}, each.commit.slice(0, 8)), " ", each.subject),
      ago(each.last_fetch),
      each.error || h("span", { class: "faint" }, each.url),
    ],
  }));
  return table("Git remotes", [["Remote"], ["State"], ["Branch"], ["Live commit", "text"], ["Fetched"], ["About", "text"]], rows, "No remote is configured.");
}
