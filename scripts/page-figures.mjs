// What scripts/page-figures measures. Arguments: the service's address and the browser.
import { execFileSync } from 'node:child_process';
import lighthouse from 'lighthouse';
import puppeteer from 'puppeteer-core';

const limits = { performance: 95, kilobytes: 120, firstByte: 100, typing: 100 };
const [base, executablePath] = process.argv.slice(2);
const password = 'correct horse battery staple';
let failed = false;

function row(name, value, unit, good) {
  console.log(`${name.padEnd(44)} ${String(value).padStart(7)} ${unit.padEnd(10)} ${good ? '' : 'MISSED'}`.trimEnd());
  failed ||= !good;
}

async function call(method, path, body, headers = {}) {
  const response = await fetch(base + path, { method, headers: { 'Content-Type': 'application/json', ...headers }, body: body && JSON.stringify(body) });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()).data;
}

for (let i = 0; ; i++) {
  if (await fetch(base + '/readyz').then((r) => r.ok, () => false)) break;
  if (i === 100) throw new Error('the service did not start');
  await new Promise((done) => setTimeout(done, 100));
}
const ada = { name: 'Ada', email: 'ada@people.example', password };
execFileSync('./svcd', ['user', 'add', ada.email, '--name', ada.name, '--data', 'data'], { cwd: import.meta.dirname, input: password + '\n' });
const session = { Authorization: 'Bearer ' + (await call('POST', '/api/auth/sessions', { email: ada.email, password })).access_token };

const kinds = [['Bosch Serie 6 washing machine', 'Household'], ['Miele vacuum cleaner', 'Household'], ['Makita cordless drill', 'Tools'],
  ['Samsung television', 'Electronics'], ['Dell laptop', 'Electronics'], ['Brompton bicycle', 'Sport'], ['DeLonghi espresso machine', 'Kitchen']];
let count = 0;
async function fillTo(total) {
  while (count < total) {
    const items = [];
    for (; items.length < 500 && count < total; count++) {
      const [product_name, category] = kinds[count % kinds.length];
      const month = String(1 + count % 12).padStart(2, '0');
      items.push({ product_name: `${product_name} ${count % 997}`, category, serial_number: `SN-${count}-${count * 7919 % 100003}`,
        supplier: `Supplier ${count % 83}`, start_date: `202${4 + count % 3}-${month}-15`, end_date: `202${7 + count % 3}-${month}-14` });
    }
    const results = await call('POST', '/api/v1/warranties/batch', { items }, session);
    if (!results) throw new Error('a batch has no results');
  }
}
await fillTo(5000);
const [record] = await call('GET', '/api/v1/warranties', undefined, session);
const claim = await call('POST', '/api/claims', { warranty_id: record.id, type: 'repair', incident_date: '2026-11-01', description: 'Water under the machine after each run.' }, session);

// The cookie of a person who signed in with the form.
const signedIn = await fetch(base + '/sign-in', { method: 'POST', redirect: 'manual',
  headers: { 'Content-Type': 'application/x-www-form-urlencoded', Origin: base }, body: new URLSearchParams({ email: ada.email, password }) });
const cookies = signedIn.headers.getSetCookie().map((c) => c.split(';')[0]);
if (signedIn.status !== 303 || cookies.length === 0) throw new Error(`sign-in: ${signedIn.status}`);

const browser = await puppeteer.launch({ executablePath, args: ['--no-sandbox'] });
async function firstVisit(signedOut) {
  const context = await browser.createBrowserContext();
  for (const cookie of signedOut ? [] : cookies) {
    const at = cookie.indexOf('=');
    await context.setCookie({ name: cookie.slice(0, at), value: cookie.slice(at + 1), domain: '127.0.0.1', path: '/', httpOnly: true });
  }
  return [context, await context.newPage()];
}

console.log('Lighthouse, mobile, 5,000 warranties; first visit without a cache');
for (const [name, path, signedOut] of [['front page', '/', true], ['sign-in', '/sign-in', true], ['take-over', '/take', true],
  ['public page of a stranger', '/verify/' + record.reference_number, true], ['overview', '/'], ['list', '/warranties'], ['record', '/warranties/' + record.id], ['claim', '/claims/' + claim.id],
  ['form', '/warranties/new'], ['public page', '/verify/' + record.reference_number], ['docs', '/docs'], ['docs of warranties', '/docs/warranties']]) {
  const [context, page] = await firstVisit(signedOut);
  const { lhr } = await lighthouse(base + path, { logLevel: 'error', disableStorageReset: true,
    onlyCategories: ['performance', 'accessibility', 'best-practices'] }, undefined, page);
  if (lhr.runtimeError) throw new Error(`${path}: ${lhr.runtimeError.message}`);
  if (new URL(lhr.finalDisplayedUrl).pathname !== path) throw new Error(`${path} led to ${lhr.finalDisplayedUrl}`);
  const score = (category) => Math.round(lhr.categories[category].score * 100);
  row(`${name}: performance`, score('performance'), 'of 100', score('performance') >= limits.performance);
  row(`${name}: accessibility`, score('accessibility'), 'of 100', score('accessibility') === 100);
  row(`${name}: best practices`, score('best-practices'), 'of 100', true);
  const kilobytes = lhr.audits['total-byte-weight'].numericValue / 1000;
  row(`${name}: first visit`, kilobytes.toFixed(1), 'KB', kilobytes <= limits.kilobytes);
  await context.close();
}

if (process.env.PAGE_FIGURES_SHORT) {
  await browser.close();
  process.exit(failed ? 1 : 0);
}
await fillTo(50000);
const headers = { Cookie: cookies.join('; '), Accept: 'text/html', 'Sec-Fetch-Site': 'same-origin' };
// The index of a long list is made in the background.
const question = '/warranties?q=bosch+washing';
for (let i = 0; i < 60; i++) {
  const started = performance.now();
  await (await fetch(base + question, { headers })).text();
  if (performance.now() - started < limits.firstByte / 2) break;
  await new Promise((done) => setTimeout(done, 1000));
}
console.log('\nTime to the first byte, 50,000 warranties, 30 requests one after another');
for (const [name, path] of [['overview', '/'], ['list', '/warranties'], ['list by end, page 900', '/warranties?sort=end_date&page=900'], ['search', question],
  ['search for a serial number', '/warranties?q=sn-4711']]) {
  const times = [];
  for (let i = 0; i < 30; i++) {
    const started = performance.now();
    const response = await fetch(base + path, { headers, redirect: 'manual' });
    times.push(performance.now() - started); // fetch resolves with the headers
    if (response.status !== 200) throw new Error(`${path}: ${response.status}`);
    await response.text();
  }
  times.sort((a, b) => a - b);
  row(`${name}: median`, times[15].toFixed(1), 'ms', times[15] <= limits.firstByte);
  row(`${name}: worst`, times[29].toFixed(1), 'ms', true);
}

console.log('\nInteraction to next paint, typing into the search of 50,000 warranties');
const [context, page] = await firstVisit();
await page.evaluateOnNewDocument(() => {
  window.interactions = [];
  new PerformanceObserver((list) => {
    for (const e of list.getEntries()) if (e.interactionId) window.interactions.push(e.duration);
  }).observe({ type: 'event', durationThreshold: 16, buffered: true });
});
await page.goto(base + '/warranties', { waitUntil: 'load' });
await page.type('input[name=q]', 'bosch serie 6 washing machine', { delay: 60 });
await new Promise((done) => setTimeout(done, 1000));
const delays = await page.evaluate(() => window.interactions);
// Interactions of less than 16 ms are not reported.
const worst = delays.length ? Math.max(...delays) : 16;
row('typing: slowest key', worst, 'ms', worst <= limits.typing);
await context.close();
await browser.close();
if (failed) process.exit(1);
