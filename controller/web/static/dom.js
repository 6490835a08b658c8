// Elements as plain values, and the smallest change that makes the page equal to them.
//
// h() makes a value, render() brings it into the page. Texts become text nodes: nothing here makes markup out of a text,
// and the page's policy (Trusted Types) would not let it. A list whose entries have a `key` keeps their elements.

const SVG = "http://www.w3.org/2000/svg";
const PROPERTIES = new Set(["value", "checked", "open", "indeterminate"]);

/** An element as a value. `children` may be nested lists; null, undefined and false are left out. */
export function h(tag, props, ...children) {
  return { tag, props: props ?? {}, key: props?.key, children: flat(children) };
}

/** Make the content of `root` equal to `tree`, one value or a list of them. */
export function render(root, tree) {
  patchChildren(root, root.saltern ?? [], (root.saltern = flat([tree])), false);
}

function flat(children) {
  const found = [];
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === true) continue;
    found.push(typeof child === "object" ? child : { text: String(child) });
  }
  return found;
}

function create(node, svg) {
  if (node.text !== undefined) {
    node.el = document.createTextNode(node.text);
    return node.el;
  }
  svg = svg || node.tag === "svg";
  const el = (node.el = svg ? document.createElementNS(SVG, node.tag) : document.createElement(node.tag));
  patchChildren(el, [], node.children, svg);
  patchProps(el, {}, node.props);
  node.props.ref?.(el);
  return el;
}

function isSame(a, b) {
  return a.tag === b.tag && a.key === b.key && (a.text === undefined) === (b.text === undefined);
}

function patch(old, node, svg) {
  const el = (node.el = old.el);
  if (node.text !== undefined) {
    if (old.text !== node.text) el.data = node.text;
    return;
  }
  svg = svg || node.tag === "svg";
  patchChildren(el, old.children, node.children, svg);
  patchProps(el, old.props, node.props);
}

function patchChildren(parent, old, list, svg) {
  const keyed = new Map();
  for (const each of old) if (each.key !== undefined) keyed.set(each.key, each);
  const used = new Set();
  let place = 0;
  let next = parent.firstChild;
  for (const node of list) {
    let found;
    if (node.key !== undefined) {
      found = keyed.get(node.key);
      if (found && (used.has(found) || !isSame(found, node))) found = undefined;
    } else {
      while (place < old.length && (old[place].key !== undefined || used.has(old[place]))) place += 1;
      if (place < old.length && isSame(old[place], node)) found = old[place++];
    }
    if (found) {
      used.add(found);
      patch(found, node, svg);
    } else {
      create(node, svg);
    }
    if (node.el === next) next = next.nextSibling;
    else parent.insertBefore(node.el, next);
  }
  for (const each of old) if (!used.has(each)) each.el.remove();
}

function patchProps(el, old, props) {
  for (const name of Object.keys(old)) if (!(name in props)) setProp(el, name, undefined, old[name]);
  for (const [name, value] of Object.entries(props)) setProp(el, name, value, old[name]);
}

function setProp(el, name, value, before) {
  if (name === "key" || name === "ref") return;
  if (name.startsWith("on")) {
    el[name] = value ?? null;
  } else if (name === "style") {
    for (const [property, each] of Object.entries(value ?? {})) el.style.setProperty(property, each);
  } else if (PROPERTIES.has(name)) {
    // What somebody types is theirs until the page says something else than it did before.
    if (value !== before && el[name] !== value) el[name] = value ?? "";
  } else if (value === before) {
    return;
  } else if (value === undefined || value === null || value === false) {
    el.removeAttribute(name);
  } else {
    el.setAttribute(name, name === "href" ? safeHref(value) : value === true ? "" : String(value));
  }
}

/** An address that a link may lead to: a page here, or one of the web. Anything else leads nowhere. */
export function safeHref(value) {
  const text = String(value);
  return /^(\/(?!\/)|#|\?|https?:\/\/)/i.test(text) ? text : "#";
}
