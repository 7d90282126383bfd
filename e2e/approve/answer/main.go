// Command answer opens an address as the browser of a person who allows what a client asks for. CONSENT_EMAIL and
// CONSENT_PASSWORD sign in; CONSENT_DENY refuses, CONSENT_READ_ONLY allows what is preselected. With --print it prints
// the address that leads back to the client, instead of opening it.
package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"warranty.example/svc/e2e/approve"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "answer: "+err.Error())
		os.Exit(1)
	}
}

func run() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p := approve.Person{Email: os.Getenv("CONSENT_EMAIL"), Password: os.Getenv("CONSENT_PASSWORD"),
		Deny: os.Getenv("CONSENT_DENY") != "", ReadOnly: os.Getenv("CONSENT_READ_ONLY") != ""}
	address := os.Args[len(os.Args)-1]
	if !slices.Contains(os.Args, "--print") {
		return p.Open(ctx, address)
	}
	to, err := p.Answer(ctx, address)
	if err == nil {
		fmt.Println(to)
	}
	return err
}
