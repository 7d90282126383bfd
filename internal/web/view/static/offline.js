// Shows the list that was last seen, for a day and no longer than its session would have lasted, and only without a
// connection: with one, the server decides what a browser may see, and a session that was ended elsewhere sees nothing.
const section = document.querySelector("#seen");
const add = (root, tag, className, text) => {
  const element = root.appendChild(document.createElement(tag));
  element.className = className;
  element.textContent = text;
  return element;
};
// The list of warranties leads those who are not signed in to another page.
const answer = await fetch("/warranties", { method: "HEAD", cache: "no-store" }).catch(() => null);
const connected = answer !== null;
if (answer?.redirected || answer?.status === 401) {
  for (const name of window.caches ? await caches.keys() : []) if (name.startsWith("seen-")) await caches.delete(name);
}
section.dataset.connected = connected;
for (const name of window.caches && !connected ? await caches.keys() : []) {
  if (!name.startsWith("seen-")) continue;
  const kept = await (await caches.match("/offline/list", { cacheName: name }))?.json();
  const now = Date.now();
  if (!(kept?.at <= now && now < kept.until)) {
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
