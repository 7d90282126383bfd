package sheet

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"warranty.example/svc/warranty"
)

// format is what a number format says about the value of a cell.
type format struct {
	date     bool
	currency string // a code such as EUR
	digits   int    // at least so many digits, with leading zeros
}

// The day before the first one, in the two date systems of Excel.
var (
	epoch1900 = warranty.NewDate(1899, time.December, 30)
	epoch1904 = warranty.NewDate(1904, time.January, 1)
)

var (
	// formatNoise is what is shown as it is in a format: "text", \x, colours and conditions in brackets.
	formatNoise = regexp.MustCompile(`"[^"]*"|\\.|\[[^\]]*\]|_.|\*.`)
	// formatMoney is the currency of a format, such as [$€-407] or [$EUR].
	formatMoney = regexp.MustCompile(`\[\$([^\]-]+)`)
	onlyZeros   = regexp.MustCompile(`^0{2,}$`)
)

// formatOf returns the format with an id and, if it is not built in, a code.
func formatOf(id int, code string) format {
	if code == "" {
		date := id >= 14 && id <= 17 || id == 22 || id >= 27 && id <= 36 || id >= 50 && id <= 58
		return format{date: date}
	}
	code, _, _ = strings.Cut(code, ";")
	f := format{}
	if m := formatMoney.FindStringSubmatch(code); m != nil {
		f.currency = currencyOf(strings.TrimSpace(m[1]))
	}
	for sign, name := range currencySigns {
		if f.currency == "" && strings.Contains(code, sign) {
			f.currency = name
		}
	}
	plain := strings.ToLower(formatNoise.ReplaceAllString(code, ""))
	if onlyZeros.MatchString(plain) {
		f.digits = min(len(plain), 20)
	}
	f.date = f.currency == "" && plain != "general" && strings.ContainsAny(plain, "dy") && !strings.ContainsAny(plain, "0#?")
	return f
}

// text returns a number as text: the day of a date, a price with its currency, and other numbers with all their digits.
func (f format) text(value string, epoch warranty.Date) string {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
		return value
	}
	if f.date && n >= 1 && n < lifetimeSerial+1 {
		day := warranty.Date(n)
		if epoch == epoch1900 && n < 61 {
			day++ // in this date system 1900 is a leap year
		}
		return (epoch + day).String()
	}
	// Excel keeps 15 digits. The others of a longer number are lost.
	if math.Abs(n) >= 1e15 {
		return strconv.FormatFloat(n, 'E', -1, 64)
	}
	if rounded, err := strconv.ParseFloat(strconv.FormatFloat(n, 'g', 15, 64), 64); err == nil {
		n = rounded
	}
	text := strconv.FormatFloat(n, 'f', -1, 64)
	if missing := f.digits - len(text); missing > 0 && !strings.ContainsAny(text, "-.") {
		text = strings.Repeat("0", missing) + text
	}
	if f.currency != "" {
		text += " " + f.currency
	}
	return text
}

// currencyOf returns the code of a currency sign or code, or "".
func currencyOf(sign string) string {
	if code := currencySigns[sign]; code != "" {
		return code
	}
	if len(sign) == 3 && strings.ToUpper(sign) == sign && strings.Trim(sign, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
		return sign
	}
	return ""
}
