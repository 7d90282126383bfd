package warranty

import (
	"strings"
	"unicode/utf8"
)

// Limits of the product and purchase fields, in characters.
const (
	MaxBrand = 120
	MaxModel = 120
	MaxPrice = 17
)

// gtin validates a GTIN: 8, 12, 13 or 14 digits with a check digit.
func (c *Checks) gtin(value string) string {
	value = strings.TrimSpace(value)
	if value != "" && !validGTIN(value) {
		c.Add("gtin", "invalid_gtin", "Must have 8, 12, 13 or 14 digits, and the last one must be its check digit.")
	}
	return value
}

// GTINForms returns the forms in which a GTIN may be recorded: with 14, 13, 12 and 8 digits. Forms that the
// number does not have repeat the first one. It reports false if the GTIN is not valid.
func GTINForms(s string) (forms [4]string, ok bool) {
	if !validGTIN(s) {
		return forms, false
	}
	full := strings.Repeat("0", 14-len(s)) + s
	for i, digits := range []int{14, 13, 12, 8} {
		forms[i] = full
		if zeros := 14 - digits; strings.Count(full[:zeros], "0") == zeros {
			forms[i] = full[zeros:]
		}
	}
	return forms, true
}

func validGTIN(s string) bool {
	switch len(s) {
	case 8, 12, 13, 14:
	default:
		return false
	}
	sum, weight := 0, 1
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
		sum += int(s[i]-'0') * weight
		weight = 4 - weight
	}
	return sum%10 == 0
}

// price validates an amount and its currency, which need each other.
func (c *Checks) price(price, currency string) (string, string) {
	price, currency = strings.TrimSpace(price), strings.ToUpper(strings.TrimSpace(currency))
	switch {
	case price != "" && !validPrice(price):
		c.Add("price", "invalid_price", `Must be a decimal number such as "1299.00", with at most 4 decimals.`)
	case price == "" && currency != "":
		c.Add("price", "required", "Send price and currency together.")
	}
	switch {
	case currency == "" && price != "":
		c.Add("currency", "required", "Send price and currency together.")
	case currency != "" && (utf8.RuneCountInString(currency) != 3 || !strings.Contains(currencies, " "+currency+" ")):
		c.Add("currency", "unknown_currency", "Must be an ISO 4217 code such as EUR.")
	}
	return price, currency
}

func validPrice(s string) bool {
	whole, decimals, point := strings.Cut(s, ".")
	digits := func(s string) bool {
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	}
	return digits(whole) && len(whole) <= 12 && (!point || digits(decimals) && len(decimals) <= 4)
}

// Currencies lists the active codes of ISO 4217.
func Currencies() []string { return strings.Fields(currencies) }

// currencies are the active codes of ISO 4217.
const currencies = " AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD " +
	"CAD CDF CHE CHF CHW CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP " +
	"GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP " +
	"LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN " +
	"PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT " +
	"TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG "
