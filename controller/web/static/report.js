// What a change of the trees means for the fleet: the report of a preview, of a plan, or of what is pending.

import { h } from "./dom.js";
import { clock, count, inline, plural } from "./format.js";
import { badge, diff, minionLink, note, pre, section, table } from "./parts.js";

const ACTION = {
  added: ["ok", "+", "added"],
  changed: ["warn", "~", "changed"],
  removed: ["bad", "−", "not managed any more"],
  retriggered: ["busy", "↻", "triggered"],
};
const MOST_CLASSES = 60;
const MOST_RESOURCES = 200;

export function reportView(report) {
  return h(
    "div",
    { class: "report" },
    h(
      "p",
      { class: "figure" },
      count(report.changed),
      h("small", {}, ` of ${plural(report.minions, "minion")} would change, in ${plural(report.classes.length, "distinct way")}`),
    ),
    h("p", { class: "faint" }, `Made ${clock(report.made_at)}. `, h("code", {}, report.base.slice(0, 12)), " → ", h("code", {}, report.head.slice(0, 12)), report.restricted ? " As a stranger's: without secrets and test runs." : ""),
    ...report.violations.map((each) => note("bad", h("p", {}, h("b", {}, each.rule), ` ${each.message}`, each.approvable ? " Somebody may approve it." : ""))),
    trouble("It does not compile for", report.broken, "bad"),
    trouble("Nobody knows what it means for", report.unknown, "warn"),
    trouble("It warns for", report.warned, "warn"),
    report.restarts.length
      ? section(
          "Services",
          table(
            "Services",
            [["Service"], ["What"], ["Where", "text"], ["Certain"], ["Whole groups", "text"]],
            report.restarts.map((each) => [each.service, each.action, each.folded, each.certain ? "yes" : "perhaps", each.whole_groups.length ? badge("bad", "!", each.whole_groups.join(", ")) : "—"]),
          ),
        )
      : null,
    report.timing.length ? section("When", h("ul", {}, ...report.timing.map((each) => h("li", {}, each.text, each.folded ? h("span", { class: "faint" }, ` ${each.folded}`) : null)))) : null,
    report.capabilities.length
      ? section("Newly lets the trees", h("ul", {}, ...report.capabilities.map((each) => h("li", {}, badge("warn", "!", each.kind), ` ${each.text} `, each.origin ? h("code", {}, each.origin) : null))))
      : null,
    report.classes.length ? section("Changes", ...report.classes.slice(0, MOST_CLASSES).map((each, place) => changeClass(each, place < 3))) : null,
    report.classes.length > MOST_CLASSES ? h("p", { class: "faint" }, `and ${count(report.classes.length - MOST_CLASSES)} more`) : null,
    report.drift.length ? section("Drift", ...report.drift.slice(0, MOST_CLASSES).map((each) => changeClass(each, false))) : null,
    trouble("Also", report.notes ?? [], "info"),
  );
}

function trouble(title, list, kind) {
  if (!list.length) return null;
  return note(kind, ...list.slice(0, 20).flatMap((each) => [h("p", {}, h("b", {}, `${title} ${each.folded}`)), ...each.texts.slice(0, 20).map((text) => pre(text))]));
}

function changeClass(one, open) {
  const tests = one.tests.map((each) => `${each.minion}: ${each.outcome}${each.agent ? ` (as test=True of ${each.agent} foretells)` : ""}`).join(", ");
  return h(
    "details",
    { class: "class", open },
    h("summary", {}, h("b", {}, one.folded), h("span", { class: "faint" }, ` ${plural(one.minions.length, "minion")}, ${plural(one.resources.length, "change")}${tests ? `; tried on ${tests}` : ""}`)),
    one.note ? h("p", {}, one.note) : null,
    one.minions.length <= 12 ? h("p", {}, ...one.minions.flatMap((name, at) => [at ? ", " : "", minionLink(name)])) : null,
    ...one.resources.slice(0, MOST_RESOURCES).map(resource),
    one.holes.length
      ? h("p", { class: "faint" }, ...one.holes.flatMap((each, at) => [at ? "; " : "Where they differ: ", h("code", {}, each.name), ` is ${Object.entries(each.examples).map(([minion, value]) => `${inline(value)} on ${minion}`).join(", ")}`]))
      : null,
  );
}

function resource(one) {
  const [kind, sign, text] = ACTION[one.action];
  const detail = one.fields.length || one.files.length || one.pillar.length || one.triggers.length || one.comment;
  const head = [
    badge(kind, sign, text),
    " ",
    one.title,
    one.certainty === "certain" ? null : badge("off", "?", one.certainty, one.why_uncertain),
    one.irreversible ? badge("bad", "!", "cannot be taken back", one.irreversible) : null,
    one.origin ? h("code", { class: "faint" }, ` ${one.origin}`) : null,
  ];
  if (!detail) return h("p", { class: "resource", key: one.key }, ...head);
  return h(
    "details",
    { class: "resource", key: one.key, open: one.files.length > 0 },
    h("summary", {}, ...head),
    one.comment ? h("p", {}, one.comment) : null,
    one.commit ? h("p", { class: "faint" }, one.commit) : null,
    ...one.fields.map((each) => h("p", {}, h("b", {}, each.field), " ", h("del", {}, inline(each.old)), " → ", h("ins", {}, inline(each.new)))),
    ...one.pillar.map((each) => h("p", {}, "Pillar ", h("code", {}, each.path), each.origin ? h("span", { class: "faint" }, ` ${each.origin} ${each.commit}`) : null)),
    one.triggers.length ? h("p", {}, `Triggers ${one.triggers.join(", ")}`) : null,
    one.triggered_by.length ? h("p", {}, `Triggered by ${one.triggered_by.join(", ")}`) : null,
    ...one.files.map((each) => h("div", {}, h("p", {}, h("code", {}, each.path), each.note ? h("span", { class: "faint" }, ` ${each.note}`) : null), each.text ? diff(each.text) : null)),
  );
}

