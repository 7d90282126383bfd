// Command bench measures the CPU time of requests to svcd and compares it with
// alternatives. README.md describes the method and its limits.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if err := start(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func start(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	options, err := parse(args)
	if err != nil {
		return err
	}
	return run(ctx, options)
}
