// Shows the list that was last seen, for a week, and only without a connection: with one, the server decides what a
// browser may see, and a session that was ended elsewhere sees nothing.
const section = document.querySelector("#seen");
const add = (root, tag, className, text) => {
  const element = root.appendChild(document.createElement(tag));
  element.className = className;
  element.textContent = text;
  return element;
};
const connected = await fetch("/healthz", { cache: "no-store" }).then(() => true, () => false);
section.dataset.connected = connected;
for (const name of window.caches && !connected ? await caches.keys() : []) {
  if (!name.startsWith("seen-")) continue;
  const kept = await (await caches.match("/offline/list", { cacheName: name }))?.json();
  if (!kept || Date.now() - kept.at > 7 * 24 * 3600 * 1000) {
    await caches.delete(name);
    continue;
  }
  const at = new Date(kept.at).toLocaleString(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });
  add(section, "h2", "pad", section.ariaLabel);
  add(section, "p", "pad muted", section.dataset.at.replace("%", kept.account).replace("%", at));
  const list = add(section, "ul", "faults", "");
  for (const [product, ...facts] of kept.rows) {
    const row = add(list, "li", "", "");
    add(row, "b", "", product);
    add(row, "span", "t2", facts.filter(Boolean).join(" · "));
  }
  section.hidden = false;
}
