// The input itself is invisible: show the names of the chosen files. With a file, a form that can shows its progress.
document.addEventListener("change", ({ target: input }) => {
  const label = input.matches(".drop > input[type=file]") && input.parentElement.querySelector("[data-chosen]");
  if (!label) return;
  label.dataset.empty ??= label.textContent;
  label.textContent = Array.from(input.files, (file) => file.name).join(", ") || label.dataset.empty;
  if (input.files[0] && input.form.querySelector("progress")) input.form.dataset.progress = "";
});
