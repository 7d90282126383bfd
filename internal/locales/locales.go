// Package locales holds the texts that people read, one folder per language. To add a language, add a folder with the
// same files, and the line in warranty.Languages.
package locales

import "embed"

// Each kind of text has a variable of its own, so that a program contains only what it uses.
var (
	// Pages holds the texts of the web app and of the papers that it prints, one file per area.
	//
	//go:embed */pages/*.json
	Pages embed.FS

	// Messages holds translations of the service's errors by their English format.
	//
	//go:embed */messages.json
	Messages embed.FS

	// Mails holds the texts of emails.
	//
	//go:embed */mails.json
	Mails embed.FS

	// Standing holds the words for who stands behind a warranty and for its status, which programs outside the
	// service print too.
	//
	//go:embed */standing.json
	Standing embed.FS
)
