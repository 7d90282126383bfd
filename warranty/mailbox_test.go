package warranty_test

import (
	"testing"

	"warranty.example/svc/warranty"
)

// TestMailbox: spellings that arrive in one mailbox count as one, and others do not.
func TestMailbox(t *testing.T) {
	for address, want := range map[string]string{
		"kim@people.example":           "kim@people.example",
		"Kim+shop@People.example":      "kim@people.example",
		"kim+a+b@people.example":       "kim@people.example",
		"+kim@people.example":          "+kim@people.example",
		"k.i.m@people.example":         "k.i.m@people.example",
		"k.i.m+x@googlemail.com":       "kim@gmail.com",
		"kim@gmail.com.people.example": "kim@gmail.com.people.example",
	} {
		if got := warranty.Mailbox(address); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
}
