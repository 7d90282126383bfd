// The till: Enter goes from the serial number to the email, and there it issues. Scanners send Enter.
const till = document.querySelector("[data-till]");
const serial = till?.elements.serial_number, email = till?.elements.customer_email;
serial?.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.isComposing) return;
  event.preventDefault();
  email.focus();
});

// Known customers are suggested while one types a name or an address. One that is chosen fills both fields.
const name = till?.elements.customer_name, known = document.querySelector("#known");
let sent;

async function suggest(text) {
  sent?.abort();
  const own = sent = new AbortController();
  const account = till.elements.account.value;
  try {
    const response = await fetch("/customers/suggest?q=" + encodeURIComponent(text), {
      signal: own.signal, headers: { "HX-Request": "true", "X-Account": account },
    });
    if (!response.ok || response.redirected) return;
    const html = await response.text();
    if (own === sent) known.innerHTML = html;
  } catch { /* the fields work without suggestions */ }
}

for (const [field, other] of [[email, name], [name, email]]) {
  field?.addEventListener("input", () => {
    const options = [...(field.list?.options ?? [])].filter((option) => option.value === field.value);
    if (options.length === 1) {
      const rest = options[0].label;
      if (!other.value && rest && rest !== field.value) other.value = rest;
    } else if ([...field.value.trim()].length > 1) {
      suggest(field.value);
    }
  });
}
