package sheet

import (
	"regexp"
	"strings"
)

// currencySigns are the signs that stand for one currency. A dollar sign stands for several, so it is left for the check
// of the price to refuse.
var currencySigns = map[string]string{"€": "EUR", "£": "GBP", "zł": "PLN", "CHF": "CHF", "Fr.": "CHF"}

var (
	// germanPrice is 1.234,56 or 118,09, and englishPrice 1,234.56; both may lack the groups.
	germanPrice  = regexp.MustCompile(`^(\d{1,3}(?:\.\d{3})+|\d+),(\d{1,2})$`)
	englishPrice = regexp.MustCompile(`^(\d{1,3}(?:,\d{3})+)\.(\d{1,2})$`)
	dashPrice    = regexp.MustCompile(`^(\d+),[-–]+$`)
	priceCode    = regexp.MustCompile(`^([A-Z]{3})\s*(\S.*)$|^(.*\S)\s*([A-Z]{3})$`)
)

// importPrice returns a price and its currency as the API wants them, from what people and Excel write: "1.234,56",
// "118,09 €", "EUR 20". A price that could mean two numbers, such as 1.234, and one whose currency contradicts that of
// its row stay as they are, so that they are refused or read as written.
func importPrice(price, currency string) (amount, code string) {
	amount, found := splitPrice(price)
	code = currency
	if found != "" && code != "" && !strings.EqualFold(found, code) {
		return price, currency
	}
	if found != "" {
		code = found
	}
	switch {
	case germanPrice.MatchString(amount):
		amount = germanPrice.ReplaceAllStringFunc(amount, func(s string) string {
			return strings.Replace(strings.ReplaceAll(s, ".", ""), ",", ".", 1)
		})
	case englishPrice.MatchString(amount):
		amount = strings.ReplaceAll(amount, ",", "")
	case dashPrice.MatchString(amount):
		amount = dashPrice.ReplaceAllString(amount, "$1")
	}
	return amount, code
}

// splitPrice separates an amount from its currency.
func splitPrice(price string) (amount, code string) {
	amount = strings.NewReplacer("\u00a0", " ", "\u202f", " ").Replace(price)
	for sign, name := range currencySigns {
		if rest, ok := strings.CutSuffix(amount, sign); ok {
			amount, code = rest, name
		} else if rest, ok := strings.CutPrefix(amount, sign); ok {
			amount, code = rest, name
		}
	}
	if m := priceCode.FindStringSubmatch(amount); m != nil && code == "" {
		amount, code = m[2]+m[3], m[1]+m[4]
	}
	return strings.TrimSpace(amount), code
}

// withoutSigns returns the amount of a price.
func withoutSigns(price string) string {
	amount, _ := splitPrice(price)
	return amount
}
