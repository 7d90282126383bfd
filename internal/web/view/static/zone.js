// The time zone for the times on the pages of signed-in users.
document.cookie = `svc_zone=${Intl.DateTimeFormat().resolvedOptions().timeZone};path=/;max-age=31536000;samesite=lax`;
