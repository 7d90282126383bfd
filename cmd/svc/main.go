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

// patience is how long a command may take to end after Ctrl-C; a read from a
// terminal or a pipe can not be called off.
const patience = 2 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, func() {
		stop() // the next Ctrl-C ends the program at once
		time.AfterFunc(patience, func() { os.Exit(130) })
	})
	os.Exit(cli.New(version.String()).Execute(ctx, os.Args[1:]))
}
