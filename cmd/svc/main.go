// Command svc is the command-line client of the warranty records service.
package main

import (
	"context"
	"os"
	"os/signal"
	"time"

	"warranty.example/svc/internal/cli"
	"warranty.example/svc/internal/version"
)

// exitTimeout bounds the time between Ctrl-C and exit, because a read from a
// terminal or a pipe cannot be canceled.
const exitTimeout = 2 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, func() {
		stop() // a second Ctrl-C exits immediately
		time.AfterFunc(exitTimeout, func() { os.Exit(130) })
	})
	os.Exit(cli.New(version.String()).Execute(ctx, os.Args[1:]))
}
