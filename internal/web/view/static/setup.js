// The code of the link is after #, where no server sees it. Move it out of the address and the history into the form.
const code = location.hash.slice(1);
if (/^[0-9a-z-]{16,40}$/i.test(code)) {
  history.replaceState(null, "", "/setup");
  document.querySelector("#code").value = code;
}
const field = document.querySelector("[data-code]");
field.hidden = document.querySelector("#code").value !== "" && !field.querySelector(".wrong");

// Compare the address that the browser shows with the public one.
const address = document.querySelector("[data-public]").dataset.public;
const same = location.origin === address;
document.querySelector("[data-seen-address]").textContent = location.origin;
document.querySelector("[data-same]").hidden = !same;
document.querySelector("[data-differs]").hidden = same;
