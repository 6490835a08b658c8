// Keys that work on every page, but for where somebody types.

export function keyboard({ help, reload, go, active }) {
  let going = 0;
  document.addEventListener("keydown", (event) => {
    if (!active() || event.metaKey || event.ctrlKey || event.altKey) return;
    if (event.target.closest?.("input, select, textarea, dialog")) return;
    if (going && Date.now() - going < 1500) {
      going = 0;
      event.preventDefault();
      go(event.key);
      return;
    }
    going = 0;
    switch (event.key) {
      case "/":
        event.preventDefault();
        document.getElementById("search")?.focus();
        break;
      case "g":
        going = Date.now();
        break;
      case "r":
        reload();
        break;
      case "?":
        help();
        break;
    }
  });
}
