// The service worker, served as /sw.js. Pages always come from the network; without it, the offline page does. Nothing
// that a person sees is cached here: list.js keeps the last list, and offline.js shows it.
const cacheName = "static-VERSION";
const files = FILES;

const forget = async () => {
  for (const name of await caches.keys()) if (name.startsWith("seen-")) await caches.delete(name);
};

addEventListener("install", (event) => {
  skipWaiting();
  event.waitUntil(caches.open(cacheName).then((cache) => cache.addAll(files)));
});

addEventListener("activate", (event) => event.waitUntil((async () => {
  for (const name of await caches.keys()) {
    if (name.startsWith("static-") && name !== cacheName) await caches.delete(name);
  }
  await clients.claim();
})()));

// open returns a page. That of someone who is not signed in ends the list of the session that was.
const open = async (request, path) => {
  const response = await fetch(request);
  if (response.status === 401 || response.ok && path === "/sign-in") await forget();
  return response;
};

const offline = async () => {
  const page = await caches.match("/offline", { cacheName });
  return page ? new Response(page.body, { status: 503, headers: page.headers }) : Response.error();
};

addEventListener("fetch", (event) => {
  const request = event.request, path = new URL(request.url).pathname;
  if (request.method === "POST" && /sign-(in|out)|switch/.test(path)) event.waitUntil(forget());
  if (request.method !== "GET") return;
  if (request.mode === "navigate") event.respondWith(open(request, path).catch(offline));
  else if (path !== "/offline" && files.includes(path)) {
    event.respondWith(caches.match(path, { cacheName }).then((hit) => hit || fetch(request)));
  }
});
