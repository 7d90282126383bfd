// Package load sends concurrent requests to servers and checks every response.
package load

import (
	"bytes"
	"fmt"
	"strconv"
)

// Call is a request and the expected response.
type Call struct {
	Method, Path, Token string
	Header              string // an additional header line, or ""
	Page                bool   // request a web page instead of JSON
	Body                string

	Status int
	Holds  []string // texts that the body must contain
	Each   string   // a text that it must contain Count times
	Count  int
}

// append appends the HTTP request.
func (c Call) append(b []byte, host string) []byte {
	b = append(b, c.Method...)
	b = append(b, ' ')
	b = append(b, c.Path...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, host...)
	b = append(b, "\r\nUser-Agent: bench\r\n"...)
	if c.Page {
		b = append(b, "Accept: text/html\r\n"...)
	} else {
		b = append(b, "Accept: application/json\r\n"...)
	}
	if c.Token != "" {
		b = append(b, "Authorization: Bearer "...)
		b = append(b, c.Token...)
		b = append(b, '\r', '\n')
	}
	if c.Header != "" {
		b = append(b, c.Header...)
		b = append(b, '\r', '\n')
	}
	if c.Body != "" {
		b = append(b, "Content-Type: application/json\r\nContent-Length: "...)
		b = strconv.AppendInt(b, int64(len(c.Body)), 10)
		b = append(b, '\r', '\n')
	}
	b = append(b, '\r', '\n')
	return append(b, c.Body...)
}

// check returns an error if the response is not as expected.
func (c Call) check(status int, body []byte) error {
	wrong := ""
	switch {
	case status != c.Status:
		wrong = fmt.Sprintf("status %d, want %d", status, c.Status)
	case c.Each != "" && bytes.Count(body, []byte(c.Each)) != c.Count:
		wrong = fmt.Sprintf("%d times %s, want %d", bytes.Count(body, []byte(c.Each)), c.Each, c.Count)
	}
	for _, text := range c.Holds {
		if !bytes.Contains(body, []byte(text)) {
			wrong += " no " + text
		}
	}
	if wrong == "" {
		return nil
	}
	return fmt.Errorf("%s %s: %s in %.600s", c.Method, c.Path, wrong, body)
}
