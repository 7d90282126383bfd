package mail

import (
	"cmp"
	"html"
	"strings"
)

// The HTML of an email has one column of blocks, without tables, pictures, scripts or anything else that is loaded. Mail
// programs drop much of CSS, so the styles are in the elements. The style sheet only has the dark colors, for programs
// that know them; others invert the light ones.
const (
	styleBody   = "margin:0;padding:0;background:#f6f6f2;color:#1c2b30;"
	styleFont   = "font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;"
	styleOuter  = "max-width:600px;margin:0 auto;padding:24px 12px;"
	styleName   = "margin:0 0 12px;padding:0 12px;font-size:14px;font-weight:600;color:#4c5a5f;"
	styleCard   = "background:#ffffff;border:1px solid #e0e0d9;border-radius:12px;padding:24px 20px;"
	styleTitle  = "margin:0 0 16px;font-size:22px;line-height:1.25;font-weight:600;" + styleBreak
	styleBreak  = "overflow-wrap:break-word;word-wrap:break-word;word-break:break-word;"
	stylePara   = "margin:0 0 16px;" + styleBreak
	styleHead   = "margin:24px 0 8px;font-size:16px;line-height:1.25;font-weight:600;" + styleBreak
	styleCode   = "margin:0 0 16px;padding:14px 12px;background:#f0f0ea;border-radius:8px;text-align:center;" + styleMono
	styleMono   = "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:18px;font-weight:600;" + styleBreak
	styleButton = "display:inline-block;padding:12px 20px;background:#0f6b55;color:#ffffff;border-radius:8px;" +
		"font-weight:600;text-decoration:none;"
	styleLink  = "color:#0f6b55;" + styleBreak
	styleRow   = "margin:0;padding:8px 0;border-top:1px solid #e0e0d9;" + styleBreak
	styleMuted = "color:#4c5a5f;font-size:14px;"
	styleQuote = "margin:0 0 16px;padding:4px 0 4px 14px;border-left:3px solid #0f6b55;" + styleBreak
	styleFoot  = "padding:16px 12px 0;color:#4c5a5f;font-size:13px;line-height:1.5;" + styleBreak
)

// dark are the colors of the classes in the dark.
const dark = `:root{color-scheme:light dark;supported-color-schemes:light dark}
@media (prefers-color-scheme:dark){
.p{background:#101517!important;color:#f1f0ea!important}
.c{background:#182023!important;border-color:#303a3e!important}
.m{color:#b9bbb4!important}
.k{background:#0b0f11!important}
.r{border-color:#303a3e!important}
.b{background:#79d3b5!important;color:#06231b!important}
.a{color:#79d3b5!important}
.q{border-color:#79d3b5!important}
}`

// html renders blocks as the part of an email below its title.
func (list blocks) html() string {
	var b strings.Builder
	for _, part := range list.remarksLast() {
		part.writeHTML(&b)
	}
	return b.String()
}

func (p block) writeHTML(b *strings.Builder) {
	url := html.EscapeString(p.url)
	switch p.kind {
	case heading:
		b.WriteString(`<h2 style="` + styleHead + `">` + p.text.html + "</h2>\n")
	case code:
		b.WriteString(`<p class="k" style="` + styleCode + `">` + p.text.html + "</p>\n")
	case button:
		b.WriteString(`<p style="` + stylePara + `"><a class="b" href="` + url + `" style="` + styleButton + `">` +
			p.text.html + "</a></p>\n")
	case link:
		b.WriteString(`<p style="` + stylePara + `"><a class="a" href="` + url + `" style="` + styleLink + `">` +
			p.text.html + "</a></p>\n")
	case facts:
		b.WriteString(`<div style="` + stylePara + `">` + "\n")
		for _, r := range p.rows {
			b.WriteString(`<p class="r" style="` + styleRow + `"><span class="m" style="` + styleMuted + `">` + r.label.html +
				`</span><br>` + r.value.html + "</p>\n")
		}
		b.WriteString("</div>\n")
	case items:
		b.WriteString(`<div style="` + stylePara + `">` + "\n")
		for _, r := range p.rows {
			b.WriteString(`<p class="r" style="` + styleRow + `"><b>` + r.label.html + `</b>`)
			if r.value.html != "" {
				b.WriteString(`<br><span class="m" style="` + styleMuted + `">` + r.value.html + `</span>`)
			}
			b.WriteString("</p>\n")
		}
		b.WriteString("</div>\n")
	case quote:
		b.WriteString(`<blockquote class="q" dir="auto" style="` + styleQuote + `">` + p.text.html + "</blockquote>\n")
	case remark:
		b.WriteString(`<p class="m" style="` + stylePara + styleMuted + `">` + p.text.html + "</p>\n")
	default:
		b.WriteString(`<p style="` + stylePara + `">` + p.text.html + "</p>\n")
	}
}

// page returns the whole HTML of an email with its sender, its subject as title, and what is below the card.
func (t Texts) page(m Message, foot string) string {
	title, sender := typed(m.Subject).html, cmp.Or(m.Service, Service)
	if m.From != "" {
		sender = t.get("from", m.From, sender)
	}
	colors, card := dark, styleCard
	if m.Color != "" {
		card += "border-top:6px solid " + string(m.Color.OnLight()) + ";"
		colors = strings.TrimSuffix(dark, "}") + ".c{border-top-color:" + string(m.Color.OnDark()) + "!important}\n}"
	}
	return `<!doctype html>
<html lang="` + html.EscapeString(t.language) + `">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>` + title + `</title>
<style>` + colors + `</style>
</head>
<body class="p" style="` + styleBody + styleFont + `">
<div class="p" style="` + styleBody + styleFont + `">
<div style="` + styleOuter + `">
<p class="m" style="` + styleName + `">` + html.EscapeString(sender) + `</p>
<div class="c" style="` + card + `">
<h1 style="` + styleTitle + `">` + title + `</h1>
` + m.HTML + `</div>
<div class="m" style="` + styleFoot + `">
` + foot + `</div>
</div>
</div>
</body>
</html>
`
}
