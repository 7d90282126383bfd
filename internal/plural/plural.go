// Package plural finds the text for a number by the plural rules of its language (CLDR). A text "key" with a number
// may have the forms "key.zero", "key.one", "key.two", "key.few", "key.many" and "key.other", those of its language.
package plural

import (
	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

var forms = map[plural.Form]string{
	plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many", plural.Other: "other",
}

// Form returns the form of a number in a language.
func Form(lang language.Tag, n int64) string {
	n = max(n, -n)
	if n >= 1e7 { // the rules depend on the last digits
		n = n%1e7 + 1e7
	}
	return forms[plural.Cardinal.MatchPlural(lang, int(n), 0, 0, 0, 0)]
}

// Key returns the key of the text for the first whole number in args, or key if there is no number or no such form.
func Key(lang language.Tag, key string, args []any, has func(key string) bool) string {
	for _, arg := range args {
		var n int64
		switch arg := arg.(type) {
		case int:
			n = int64(arg)
		case int64:
			n = arg
		default:
			continue
		}
		for _, form := range []string{Form(lang, n), "other"} {
			if has(key + "." + form) {
				return key + "." + form
			}
		}
		break
	}
	return key
}
