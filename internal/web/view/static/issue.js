// The till: Enter goes from the serial number to the email, and there it issues. Scanners send Enter.
const till = document.querySelector("[data-till]");
const serial = till?.elements.serial_number, email = till?.elements.customer_email;
serial?.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.isComposing) return;
  event.preventDefault();
  email.focus();
});
