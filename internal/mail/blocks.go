package mail

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"warranty.example/svc/internal/plural"
)

// An email is written once, as blocks, and rendered as text and as HTML. The texts of the catalogue say which blocks there
// are, before anything that someone typed is put into them, so nothing that was typed can look like a link or a code.
//
//	A line is part of a paragraph, and an empty line ends it.
//	!! %[1]s            a code
//	=> Label | %[1]s    a button
//	-> Label | %[1]s    a link
//	## Text             a small heading
//	~~ Text             a remark below everything else
//	%[1]s               blocks, if the argument has some

type blockKind int

const (
	paragraph blockKind = iota
	heading
	code
	button
	link
	facts  // a label and a value on each line
	items  // records, each with a title and details
	quote  // what a person wrote
	remark // why the reader gets the email
)

// block is a part of an email.
type block struct {
	kind blockKind
	text words
	url  string
	rows []row
}

// row is a fact with its label, or a record with its details.
type row struct{ label, value words }

type blocks []block

// words are a text for both renderings.
type words struct{ plain, html string }

// typed returns a text of one line that may have been typed by someone.
func typed(text string) words {
	text = oneLine(text)
	safe := html.EscapeString(text)
	if strings.ContainsFunc(text, isRightToLeft) { // must not change the order of what is around it
		safe = "<bdi>" + safe + "</bdi>"
	}
	return words{text, safe}
}

// lines joins texts with line breaks.
func lines(list ...words) (all words) {
	for i, w := range list {
		if i > 0 {
			all.plain, all.html = all.plain+"\n", all.html+"<br>"
		}
		all.plain, all.html = all.plain+w.plain, all.html+w.html
	}
	return all
}

func isRightToLeft(r rune) bool {
	return unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Adlam)
}

// oneLine replaces what would break a line or change its direction by spaces.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
}

// typedLines returns a text of several lines that someone typed. Several empty lines become one.
func typedLines(text string) words {
	var list []words
	for line := range strings.Lines(strings.ReplaceAll(text, "\r\n", "\n")) {
		w := typed(line)
		if w.plain == "" && (len(list) == 0 || list[len(list)-1].plain == "") {
			continue
		}
		list = append(list, w)
	}
	for len(list) > 0 && list[len(list)-1].plain == "" {
		list = list[:len(list)-1]
	}
	return lines(list...)
}

var argumentOf = regexp.MustCompile(`%\[(\d)\][sd]`)

// say returns the text of a key with its arguments.
func (t Texts) say(key string, args ...any) words {
	return fill(string(t.texts[plural.Key(t.tag, key, args, t.has)]), args)
}

// fill puts arguments into a text of the catalogue.
func fill(text string, args []any) words {
	text = strings.ReplaceAll(text, "\n", " ")
	put := func(text string, value func(words) string) string {
		return argumentOf.ReplaceAllStringFunc(text, func(verb string) string {
			n := int(verb[2] - '1')
			if n < 0 || n >= len(args) {
				return "%!" + verb
			}
			if w, ok := args[n].(words); ok {
				return value(w)
			}
			return value(typed(fmt.Sprint(args[n])))
		})
	}
	return words{
		plain: put(text, func(w words) string { return w.plain }),
		html:  put(html.EscapeString(text), func(w words) string { return w.html }),
	}
}

// compose returns the blocks of a text of the catalogue.
func compose(text string, args []any) (list blocks) {
	var open []string // the lines of a paragraph
	end := func() {
		if len(open) > 0 {
			list = append(list, block{kind: paragraph, text: fill(strings.Join(open, " "), args)})
		}
		open = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		mark, rest, _ := strings.Cut(line, " ")
		kind, marked := marks[mark]
		inner, spliced := splice(line, args)
		switch {
		case spliced:
			end()
			list = append(list, inner...)
		case marked:
			end()
			label, url, _ := strings.Cut(rest, " | ")
			list = append(list, block{kind: kind, text: fill(label, args), url: fill(url, args).plain})
		case line == "":
			end()
		default:
			open = append(open, line)
		}
	}
	end()
	return list
}

var marks = map[string]blockKind{"!!": code, "=>": button, "->": link, "##": heading, "~~": remark}

// splice returns the blocks of an argument that is a line of its own.
func splice(line string, args []any) (blocks, bool) {
	verb := argumentOf.FindString(line)
	if verb == "" || verb != line {
		return nil, false
	}
	n := int(verb[2] - '1')
	if n < 0 || n >= len(args) {
		return nil, false
	}
	list, ok := args[n].(blocks)
	return list, ok
}

// remarksLast returns the blocks with the remarks at the end.
func (list blocks) remarksLast() blocks {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b block) int { return rank(a) - rank(b) })
	return list
}

func rank(b block) int {
	if b.kind == remark {
		return 1
	}
	return 0
}

// text renders blocks as the text of an email. colon is the colon of its language, with the space before it.
func (list blocks) text(colon string) string {
	var b strings.Builder
	for i, part := range list.remarksLast() {
		if i > 0 {
			b.WriteString("\n")
		}
		part.writeText(&b, colon)
	}
	return b.String()
}

// indent is before links, codes and lists. The further lines of an entry have more, so that none looks like a link.
const (
	indent  = "    "
	further = indent + "  "
)

func (p block) writeText(b *strings.Builder, colon string) {
	switch p.kind {
	case code:
		b.WriteString(indent + p.text.plain + "\n")
	case button, link:
		b.WriteString(wrapped(p.text.plain+colon, "", "") + "\n\n" + indent + p.url + "\n")
	case facts:
		for _, r := range p.rows {
			b.WriteString(wrapped(r.label.plain+colon+" "+r.value.plain, indent, further) + "\n")
		}
	case items:
		for _, r := range p.rows {
			line := r.label.plain
			if r.value.plain != "" {
				line += colon + " " + r.value.plain
			}
			b.WriteString(wrapped(line, indent, further) + "\n")
		}
	case quote:
		b.WriteString(wrapped(p.text.plain, "> ", "> ") + "\n")
	default:
		b.WriteString(wrapped(p.text.plain, "", "") + "\n")
	}
}

// wrapped breaks the lines of a text for an email. Each begins with first, and what is left of it with rest. It never
// breaks a word, or a line at a no-break space.
func wrapped(text, first, rest string) string {
	const most = 72
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(first)
		length := len(first)
		for j, word := range strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == '\r' }) {
			n := utf8.RuneCountInString(word)
			switch {
			case j > 0 && length+1+n > most:
				b.WriteString("\n" + rest)
				length = len(rest)
			case j > 0:
				b.WriteString(" ")
				length++
			}
			b.WriteString(word)
			length += n
		}
	}
	return b.String()
}
